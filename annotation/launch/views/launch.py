"""The input and the output of the checks of a study before its opening.

A check takes a ``Launch``, with the study and what is known of it, and returns points of the checklist
(``ChecklistItem``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds.views.figures import FIGURES as CROWD_FIGURES
from annotation.launch.pass_mark import items_in_groups
from annotation.money.forecast import Forecast, forecast_of_design
from judgments.cached_figures import cached_figures
from judgments.design.editing.form.fields import html_name
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.discarding import can_be_discarded
from judgments.studies.plan_page import plan_context
from judgments.studies.study_page import study_page_address


class Readiness(StrEnum):
    """The state of a point of the checklist. The values are part of the API."""

    READY = gettext_noop("ready")
    MISSING = gettext_noop("missing")  # the study can open without it
    DOUBTFUL = gettext_noop("doubtful")  # the study can open if somebody insists
    BLOCKS = gettext_noop("prevents opening")
    UNKNOWN = gettext_noop("not known yet")

    @property
    def label(self) -> str:
        """The readiness in the reader's language."""
        return _("can be improved") if self is Readiness.MISSING else _(self.value)


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """A point of the checklist.

    Attributes:
        sentence: what the study has or lacks.
        link: the address of the page where this can be changed; "" for none.
        link_words: the text of the link.
    """

    title: str
    readiness: Readiness
    sentence: str
    link: str = ""
    link_words: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """A study before it is opened, with the data that checks need.

    Attributes:
        user: the account that reads the checklist.
        forecast: the forecast of cost and wage; None while the plan is being computed, or if there is a problem.
        plan: for a draft, the template context of the plan of its HITs ("plan"), or of the problem that prevents them
            ("problem", "problem_link"); otherwise empty.
        can_go_back: whether the pages of work can be discarded, so that the design can be changed.
    """

    study: Study
    user: User
    design: StudyDesign
    forecast: Forecast | None
    plan: dict[str, Any]
    can_go_back: bool

    @property
    def problem(self) -> str:
        """Why no HITs can be generated from a draft's design; "" if they can."""
        return str(self.plan.get("problem", ""))

    @property
    def max_distinct_checks(self) -> int | None:
        """The largest number of different check questions for one participant; None if unknown."""
        # of a draft, the plan tells how many check questions there are; later, a note of the generation does
        plan, pool_note = self.plan.get("plan"), self.study.notes.get("control_pool")
        if not plan and not pool_note:
            return None
        # the pages of work until a check question is repeated; all pages, if none is
        max_pages = plan.pool.lasts if plan else pool_note["lasts"]
        # hits_at_most is 0 without a limit; per_hit counts pictures where these are shown with all their captions
        page_count = min(max_pages, self.design.workers.hits_at_most or max_pages)
        # if captions are grouped by image, each check question is a group of captions
        return page_count * items_in_groups(self.design, self.design.controls.per_hit)

    @property
    def why_unknown(self) -> str:
        """Why cost and wage are not known, as a sentence."""
        if self.problem:
            return _("This can be computed only when pages of work can be generated from the design.")
        return _("The plan is being computed.")

    def point(
        self,
        title: str,
        readiness: Readiness,
        sentence: str,
        *,
        key: str = "",
        page: str = "",
        link_words: str = "",
    ) -> ChecklistItem:
        """Return a point of the checklist, with a link to the page on which it can be changed.

        Only a draft's design can be changed. If there are pages of work, the link for a ``key`` leads to the page that
        discards them or, if they cannot be discarded, to the page that duplicates the study.

        Args:
            key: the key of the design that can be changed.
            page: the page of the study on which something can be changed. It is preferred to ``key``.
        """
        if page:
            return ChecklistItem(title, readiness, sentence, study_page_address(self.study, page), link_words)
        if not key or readiness is Readiness.READY:
            return ChecklistItem(title, readiness, sentence)
        if self.study.state == Study.State.DRAFT:
            address = f"{study_page_address(self.study, 'change')}#id_{html_name(key)}"
            return ChecklistItem(title, readiness, sentence, address, link_words or _("Add it"))
        if self.can_go_back:
            return ChecklistItem(
                title, readiness, sentence, study_page_address(self.study, "discard"), _("Change the design")
            )
        address = study_page_address(self.study, "reuse")
        return ChecklistItem(title, readiness, sentence, address, _("Duplicate the study to change this"))


def launch_of(study: Study, user: User) -> Launch:
    """Read the data that checks need. The plan and the forecast are read from caches, and computed by jobs."""
    design = design_of(study)
    forecast, plan_variables = None, {}
    if study.state == Study.State.DRAFT:
        plan_variables = plan_context(study)
        if plan := plan_variables.get("plan"):
            forecast = forecast_of_design(design, hits=plan.hits, items=plan.units + plan.controls)
    else:
        figures = cached_figures(study, CROWD_FIGURES).value
        forecast = figures.forecast if figures is not None else None
    return Launch(
        study=study,
        user=user,
        design=design,
        forecast=forecast,
        plan=plan_variables,
        can_go_back=can_be_discarded(study),
    )
