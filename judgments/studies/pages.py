"""The parts of a study's pages: sections with tabs, steps, and the additions of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext

from common.errors import DesignError
from common.parameters import Parameters
from judgments.access.rights import Right
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Study

Context = dict[str, Any]


def always(study: Study) -> bool:
    return True


def never(study: Study) -> bool:
    return False


def was_opened(study: Study) -> bool:
    """Return whether people, or a rehearsal, could answer; true for imported judgments."""
    return study.state in (Study.State.OPEN, Study.State.CLOSED)


def can_be_evaluated(study: Study) -> bool:
    """Return whether metrics can be compared with the study's answers."""
    return not KINDS[study.protocol].comparison.refusal


class StudyPlace(StrEnum):
    """The sections of a study in the admin, in the order of the work. The pages of a section are its tabs."""

    DESIGN = "Design"
    LAUNCH = "Launch"
    LIVE = "Live"
    FINDINGS = "Findings"
    SHARE = "Share"

    def has_content(self, study: Study) -> bool:
        match self:
            case StudyPlace.LAUNCH:
                return not (study.simulated or study.state == Study.State.CLOSED)
            case StudyPlace.LIVE | StudyPlace.FINDINGS:
                return was_opened(study)
        return True

    def label_for(self, study: Study) -> str:
        """Return the label of the section; "Live" becomes "Answers" if the study is not open."""
        if self is StudyPlace.LIVE and study.state != Study.State.OPEN:
            return gettext("Answers")
        return gettext(self.value)


@dataclass(frozen=True, slots=True)
class StudyPage:
    """A page about a study.

    Attributes:
        name: last part of its address, and of its URL name ``admin:judgments_study_<name>``.
        label: the label of its tab; "" for a page without one.
        order: position among the tabs of its place; the place links to the first.
        has_tab: whether it has a tab; its address works in any case.
        group: its place.
        place_before_opening: its place until the study is opened, if that is another.
        parent_page: for a page without a tab, the page whose tab is marked as current.
        help: the documentation page about it, possibly with an anchor; if empty, that of its feature.
    """

    name: str
    label: str
    order: int
    view: Callable[[HttpRequest, Study, Context], HttpResponseBase]
    permission: str = Right.VIEW
    has_tab: Callable[[Study], bool] = always
    group: StudyPlace = StudyPlace.SHARE
    place_before_opening: StudyPlace | None = None
    parent_page: str = ""
    help: str = ""

    def place_in(self, study: Study) -> StudyPlace:
        return (
            self.group
            if self.place_before_opening is None or was_opened(study)
            else self.place_before_opening
        )


@dataclass(frozen=True, slots=True)
class StepForm:
    parameters: type[Parameters]
    fields: tuple[str, ...]
    needed: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudyStep:
    """An action on a study, by a post to ``do/<name>/``.

    Attributes:
        label: the label of the button.
        run: carries it out; if it returns None, redirect to the page that the post came from.
        message: the message afterwards; "" for none.
        has_button: whether the button is at the top of the study's pages.
        primary_in, primary_on: the states and pages in which it is a filled button; otherwise it is in the menu.
        requires: another Django permission that it needs, such as ``judgments.add_study``.
        job: the kind of job that it starts; the button is hidden while such a job is queued or runs.
        inline: whether an error is shown next to the step's form (``take_refusal``).
        form: the form for ``{% step_form %}``; None if a template has it.
        refusal_address: returns the address at which an error about a key of the design is shown; None shows it above
            the page.
    """

    name: str
    label: str
    run: Callable[[HttpRequest, Study], HttpResponse | None]
    message: str = ""
    has_button: Callable[[Study], bool] = never
    primary_in: frozenset[str] = frozenset()
    primary_on: frozenset[str] = frozenset()
    permission: str = Right.CHANGE
    requires: str = ""
    job: str = ""
    inline: bool = False
    form: StepForm | None = None
    refusal_address: Callable[[Study, str], str] | None = None


@dataclass(frozen=True, slots=True)
class StartPage:
    """A page that the page "New study" links to.

    Attributes:
        name: last part of its address.
        label: the text of the link.
        text: the words before the link.
        with_data: whether the person brings data on that page, so that no dataset is needed before.
    """

    name: str
    label: str
    text: str
    view: Callable[[HttpRequest, Context], HttpResponseBase]
    with_data: bool = False

    @property
    def address(self) -> str:
        return reverse(f"admin:judgments_study_start_{self.name}")


@dataclass(frozen=True, slots=True)
class PlanPart:
    """An app's addition to the plan of a draft; its template gets the facts as ``part``.

    The functions for facts and problems get the design, the number of HITs, and the number of items including
    control items.
    """

    template: str
    facts: Callable[[StudyDesign, int, int], Any]
    problems: Callable[[StudyDesign, int, int], list[DesignError]] | None = None


@dataclass(frozen=True, slots=True)
class PagePart:
    """A feature's addition to a platform page that shows ``parts``; its template gets the facts as ``part``."""

    page: str
    template: str
    facts: Callable[[HttpRequest, Study], Any]
