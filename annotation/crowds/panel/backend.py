"""A panel, a mailing list, a pool of students: whoever sends people by a link and takes them back by an address or a
code. Nothing is asked of it over the network; the person in charge copies a link, codes and lists."""

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

# what is ours to do: the panel hears of it by the lists that a person takes there
ON_PAPER = frozenset({Ability.PUBLISH, Ability.EXTEND, Ability.EXPIRE, Ability.BONUS})


class ExternalBackend(CrowdBackend):
    """A person's session is ``panel.hits`` HITs; the whole study is one publication, with a place for each session."""

    name = "external"
    title = "an external panel"
    can = ON_PAPER | {Ability.COST}
    requirements = CROWDS["external"].requirements

    def serves(self, design: StudyDesign) -> bool:
        """Panels without an API."""
        return design.crowd.backend == self.name and not design.panel.api

    def refuse(self, study: Study, design: StudyDesign) -> None:
        """What would let a person in whom the study cannot serve.

        Raises:
            WrongState: in one sentence.
        """
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
        """The entry, without its parameters."""
        return f"The panel sends its people to /s/{study.slug}/panel/ on this server; the study's page has the link."

    def price(self, design: StudyDesign, *, places: int) -> Price:
        """A session: the reward of its HITs, and the panel's fee on it."""
        reward = design.crowd.reward_cents * design.panel.hits
        return Price(reward_cents=reward, fee_cents=self.fee(design, reward))

    def fee(self, design: StudyDesign, cents: int) -> int:
        """The panel's fee on an amount, as the design states it."""
        return fee_of(cents, Decimal(str(design.crowd.fee_percent)))

    def plans(self, study: Study) -> Iterable[Plan]:
        """One publication with as many places as sessions are needed; the last one may be shorter."""
        design = StudyDesign.model_validate(study.design)
        slots = HIT.objects.filter(study=study).aggregate(n=Sum("open_slots"))["n"] or 0
        yield Plan(hit=None, places=-(-slots // design.panel.hits))

    def places(self, design: StudyDesign, *, hits: int) -> list[int]:
        """One publication; see ``plans``."""
        return [-(-hits * design.judgments_per_unit // design.panel.hits)]

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        """What happens in our books alone is done as soon as it is asked for.

        Raises:
            Refused: the panel cannot be asked for it.
        """
        if call.kind not in ON_PAPER:
            raise Refused(f"The crowd {self.title} cannot be asked to {call.kind}.")
        return {"external_id": call.key} if call.kind == Ability.PUBLISH else {}


def entry_path(study: Study, design: StudyDesign) -> str:
    """The link for the panel, with the parameters as the panel wants them written; after the server's address."""
    query = entry_query(design.panel)
    return f"/s/{study.slug}/panel/" + (f"?{query}" if query else "")


def panel_title(design: StudyDesign) -> str:
    """The panel's name for people."""
    return PANEL_PRESETS[design.panel.preset].title


__all__ = ["ExternalBackend", "entry_path", "panel_title"]
