"""Check whether a worker meets the requirements of a study, and whether they may take a page of work.

Workers declare their country. Approved work is counted on this installation.
"""

from __future__ import annotations

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotation.errors import CountryProblem, RequirementNotMet
from annotation.models import Assignment, Worker
from annotation.models.assignments import LIVE_STATES
from annotation.work.quiz import quiz_backend
from common.amounts import spell_number
from judgments.design.countries import COUNTRIES, country_name
from judgments.design.quiz import asks_anything
from judgments.design.requirements import Workers, approval_is_enough
from judgments.design.study_design import StudyDesign
from judgments.models import Study

# states of assignments that count towards workers.hits_at_most
COUNTED_STATES = (*LIVE_STATES, "invalidated")


def check_requirements(*, requirements: Workers, worker: Worker | None, country: str = "") -> None:
    """Check that a worker meets the requirements.

    Args:
        worker: None for a new worker.
        country: the code of the country that the worker declares now; "" if they declare none.

    Raises:
        CountryProblem: the worker declared another country before.
        RequirementNotMet: a requirement is not met.
    """
    known_country = worker.country if worker is not None else ""
    if known_country and country not in ("", known_country):
        raise CountryProblem(
            _(
                "You told us earlier that you live in %(country)s. If this has changed, write to the researchers."
            )
            % {"country": country_name(known_country)}
        )
    if requirements.countries:
        country = known_country or country
        if not country:
            raise RequirementNotMet(_("Please say in which country you live; this study asks for it."))
        if country not in requirements.countries:
            raise RequirementNotMet(
                _("This study is for people who do not live in %(country)s.")
                % {"country": country_name(country)}
            )
    _check_qualifications(requirements, worker)
    if not requirements.approval_above and not requirements.approved_at_least:
        return
    approved_count, rejected_count = _count_reviews(worker) if worker is not None else (0, 0)
    if approved_count < requirements.approved_at_least:
        raise RequirementNotMet(
            _(
                "This study is for people whose work on this site was approved before. Approved pages of work: you "
                "need at least %(wanted)s and have %(approved)s."
            )
            % {"wanted": requirements.approved_at_least, "approved": approved_count}
        )
    if requirements.approval_above and not approval_is_enough(
        approved_count, rejected_count, requirements.approval_above
    ):
        raise RequirementNotMet(
            _(
                "You can join this study only if more than %(share)s %% of your work on this site was approved."
            )
            % {"share": spell_number(requirements.approval_above * 100)}
        )


def _check_qualifications(requirements: Workers, worker: Worker | None) -> None:
    if not requirements.requires and not requirements.forbids:
        return
    names = set(worker.qualifications.values_list("name", flat=True)) if worker is not None else set()
    if not names.issuperset(requirements.requires):
        raise RequirementNotMet(_("This study is only for people whom the researchers have selected."))
    if names.intersection(requirements.forbids):
        raise RequirementNotMet(_("This study is only for people who did not take part in an earlier study."))


def _count_reviews(worker: Worker) -> tuple[int, int]:
    """Return the numbers of the worker's approved and of their rejected assignments."""
    counts = Assignment.objects.filter(worker=worker).aggregate(
        approved=Count("pk", filter=Q(state=Assignment.State.APPROVED)),
        rejected=Count("pk", filter=Q(state=Assignment.State.REJECTED)),
    )
    return counts["approved"], counts["rejected"]


def check_may_work(*, study: Study, design: StudyDesign, worker: Worker) -> None:
    """Check that a worker may take a HIT. Simulated workers and language models always may.

    Raises:
        RequirementNotMet: the person does not meet a requirement of the study.
        NotAdmitted: the person has not passed the quiz.
    """
    if not worker.is_person:
        return
    # a panel with an API checks the other requirements itself
    check_requirements(requirements=design.requirements_checked_here, worker=worker)
    if asks_anything(design.quiz):
        quiz_backend().check_passed(study=study, design=design, worker=worker)


def has_reached_limit(*, study: Study, design: StudyDesign, worker: Worker) -> bool:
    """Return whether a person has taken as many HITs as the design allows (``workers.hits_at_most``)."""
    limit = design.workers.hits_at_most
    if not limit or not worker.is_person:
        return False
    return Assignment.objects.filter(study=study, worker=worker, state__in=COUNTED_STATES).count() >= limit


def checked_country(code: str) -> str:
    """Return the code of a country in capitals; "" for "". Raise CountryProblem if there is no such country."""
    code = code.strip().upper()
    if code and code not in COUNTRIES:
        raise CountryProblem(
            _("%(code)r is not a country code; expected two letters of ISO 3166-1, such as US.")
            % {"code": code}
        )
    return code
