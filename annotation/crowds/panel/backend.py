"""Panels without an API: mailing lists, student pools, and all who send people by a link and take them back.

A person copies the link, codes and lists; there are no network calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.db.models import Sum

from annotation.crowds.base import Ability, CrowdBackend, Plan, Price, Refused, fee_of
from annotation.models import CrowdCall
from common.errors import WrongState
from judgments.design.panels import PANEL_PRESETS, entry_query
from judgments.design.requirements import CROWDS
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Study

# done in our books; the panel learns of it from lists that a person uploads there
ON_PAPER = frozenset({Ability.PUBLISH, Ability.EXTEND, Ability.EXPIRE, Ability.BONUS})


class ExternalBackend(CrowdBackend):
    """A backend whose sessions have ``panel.hits`` HITs; the study is one external HIT with a slot for each
    session."""

    name = "external"
    title = "an external panel"
    can = ON_PAPER | {Ability.COST}
    requirements = CROWDS["external"].requirements

    def serves(self, design: StudyDesign) -> bool:
        return design.crowd.backend == self.name and not design.panel.api

    def refuse(self, study: Study, design: StudyDesign) -> None:
        hits = HIT.objects.filter(study=study).count()
        if hits < design.panel.hits:
            raise WrongState(
                f"Study {study.slug!r} has {hits} HITs, fewer than the {design.panel.hits} of a person's session "
                "(panel.hits)."
            )
        if design.access.join != "open":
            raise WrongState(
                f"Study {study.slug!r} asks for a code (access.join = {design.access.join!r}), but its panel sends "
                "people by a link; set access.join to 'open'."
            )
        most = design.workers.hits_at_most
        if most and most < design.panel.hits:
            raise WrongState(
                f"A worker of study {study.slug!r} may do {most} HITs (workers.hits_at_most), and a person's session "
                f"has {design.panel.hits} (panel.hits)."
            )

    def where(self, study: Study) -> str:
        return f"The panel sends its people to /s/{study.slug}/panel/ on this server; the study's page has the link."

    def price(self, design: StudyDesign, *, places: int) -> Price:
        reward = design.crowd.reward_cents * design.panel.hits
        return Price(reward_cents=reward, fee_cents=self.fee(design, reward))

    def fee(self, design: StudyDesign, cents: int) -> int:
        return fee_of(cents, Decimal(str(design.crowd.fee_percent)))

    def plans(self, study: Study) -> Iterable[Plan]:
        """Yield one external HIT with a slot per session; the last session may be shorter."""
        design = StudyDesign.model_validate(study.design)
        slots = HIT.objects.filter(study=study).aggregate(n=Sum("open_slots"))["n"] or 0
        yield Plan(hit=None, places=-(-slots // design.panel.hits))

    def places(self, design: StudyDesign, *, hits: int) -> list[int]:
        return [-(-hits * design.judgments_per_unit // design.panel.hits)]

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        """Complete calls that concern only our books."""
        if call.kind not in ON_PAPER:
            raise Refused(f"The crowd {self.title} cannot be asked to {call.kind}.")
        return {"external_id": call.key} if call.kind == Ability.PUBLISH else {}


def entry_path(study: Study, design: StudyDesign) -> str:
    query = entry_query(design.panel)
    return f"/s/{study.slug}/panel/" + (f"?{query}" if query else "")


def panel_title(design: StudyDesign) -> str:
    return PANEL_PRESETS[design.panel.preset].title


__all__ = ["ExternalBackend", "entry_path", "panel_title"]
