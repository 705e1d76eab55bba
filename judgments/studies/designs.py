"""Read the design of a study, its kind, and properties that depend on the design."""

from __future__ import annotations

import json
from functools import lru_cache

from judgments.design.study_design import StudyDesign
from judgments.design.tables.plan import RegistrationPlan
from judgments.kinds import KINDS, Kind, installed_kind
from judgments.models import HITUnit, Study

REGISTRATION_CODE = "registered"  # the code in a study's log for the registration of its plan


def is_registered(study: Study) -> bool:
    return study.events.filter(what=REGISTRATION_CODE).exists()


def store_plan(*, study: Study, plan: RegistrationPlan) -> None:
    study.design = study.design | {"registration": plan.model_dump(mode="json")}
    study.save(update_fields=["design"])


def design_of(study: Study) -> StudyDesign:
    return _validate_design(json.dumps(study.design))


@lru_cache(maxsize=50)  # a request reads the design several times, and people work on few studies at once
def _validate_design(design: str) -> StudyDesign:
    return StudyDesign.model_validate(json.loads(design))


def kind_of(study: Study) -> Kind:
    """Return the kind of a study, adapted to its design."""
    return KINDS[study.protocol].for_design(design_of(study))


def installed_kind_of(study: Study) -> Kind:
    """Return the kind of a study as ``kind_of`` does, even if the kind's feature is off."""
    return installed_kind(study.protocol).for_design(design_of(study))


# The next two functions read the stored JSON, which is faster. It lacks tables that are newer than the study.


def stops_early(study: Study) -> bool:
    return bool(study.design.get("stopping", {}).get("rule", "none") != "none")


def draws_at_claim(study: Study) -> bool:
    """Return whether the study is an arena, whose pages are drawn when they are claimed."""
    return bool(study.design.get("arena", {}).get("pages", 0))


def has_chances(study: Study) -> bool:
    """Return whether units have the probability with which they were drawn, as in an arena or an imported arena."""
    if study.source != Study.Source.IMPORTED:
        return draws_at_claim(study)
    return HITUnit.objects.filter(hit__study=study, chance__isnull=False).exists()
