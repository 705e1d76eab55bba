"""The backend of panels without an API, which study files name "external".

A panel sends people to Quorum by a link with their ids, and pays people who return with the right completion code.
Quorum sends nothing to a panel without an API: a member of staff copies the link, the codes and the lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from math import ceil
from typing import Any

from django.db.models import Sum
from django.utils.translation import pgettext

from annotation.crowds.base import Ability, CrowdBackend, CrowdRefusal, HITPlan, Price, fee_of
from annotation.models import CrowdCall
from common.errors import WrongState
from judgments.design.panel_links import worker_parameter
from judgments.design.panels import PANEL_PRESETS
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Study
from judgments.studies.designs import design_of

# these calls only change Quorum's records; a member of staff acts at the panel
MANUAL_ABILITIES = frozenset({Ability.PUBLISH, Ability.EXTEND, Ability.EXPIRE, Ability.BONUS})


class ExternalBackend(CrowdBackend):
    """The backend of a panel without an API, and the base class of backends of panels with an API.

    The panel pays for a session, in which a person does ``panel.hits`` HITs. The whole study is published as one
    offer at the panel (an "external HIT"), and each of its places is for one session.
    """

    name = "external"
    title = "an external panel"
    can = MANUAL_ABILITIES | {Ability.COST}

    def person_of(self, design: StudyDesign) -> str:  # the name of a person's id, such as PROLIFIC_PID
        return worker_parameter(design.panel)

    def refuse(self, study: Study, design: StudyDesign) -> None:
        hit_count = HIT.objects.filter(study=study).count()
        if hit_count < design.panel.hits:
            raise WrongState(
                f"Study {study.slug!r} has {hit_count} HITs, fewer than the {design.panel.hits} of a person's session "
                "(panel.hits)."
            )
        if design.access.join != "open":
            raise WrongState(
                f"Study {study.slug!r} asks for a code (access.join = {design.access.join!r}), but its panel sends "
                "people by a link; set access.join to 'open'."
            )
        limit = design.workers.hits_at_most
        if limit and limit < design.panel.hits:
            raise WrongState(
                f"A worker of study {study.slug!r} may do {limit} HITs (workers.hits_at_most), and a person's session "
                f"has {design.panel.hits} (panel.hits)."
            )

    def describe_entrance(self, study: Study) -> str:
        sentence = pgettext(
            "staff",
            "The panel sends participants to /s/%(slug)s/panel/ on this server. The page of the study shows the "
            "link.",
        ) % {"slug": study.slug}
        return sentence if design_of(study).panel.can_verify_ids else f"{sentence} {describe_unsigned()}"

    def price(self, design: StudyDesign, *, places: int) -> Price:
        reward_cents = design.crowd.reward_cents * design.panel.hits
        return Price(reward_cents=reward_cents, fee_cents=self.fee(design, reward_cents))

    def fee(self, design: StudyDesign, cents: int) -> int:
        """Return the panel's fee for a payment of ``cents``."""
        return fee_of(cents, Decimal(str(design.crowd.fee_percent)))

    def publication_plans(self, study: Study) -> Iterable[HITPlan]:
        """Yield one external HIT with one place per session. The last session may have fewer HITs."""
        design = StudyDesign.model_validate(study.design)
        slot_count = HIT.objects.filter(study=study).aggregate(n=Sum("open_slots"))["n"] or 0
        yield HITPlan(hit=None, places=ceil(slot_count / design.panel.hits))

    def places_of_publications(self, design: StudyDesign, *, hits: int) -> list[int]:
        return [ceil(hits * design.judgments_per_unit / design.panel.hits)]

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        """Return the result of a call without sending anything: a member of staff acts at the panel."""
        if call.kind not in MANUAL_ABILITIES:
            raise CrowdRefusal(f"The crowd {self.title} cannot be asked to {call.kind}.")
        return {"external_id": call.key} if call.kind == Ability.PUBLISH else {}


def describe_unsigned() -> str:
    """Return the warning about a panel whose links are not signed."""
    return pgettext(
        "staff",
        "The links of the panel are not signed. Anyone who has a link can join several times with "
        "invented ids.",
    )


def panel_title(design: StudyDesign) -> str:
    return PANEL_PRESETS[design.panel.preset].title
