"""The parts of a study in the admin, which apps register (``study_page``): pages, steps, and additions to pages.

A page belongs to a section ("Design", "Launch") and has a tab in it. A step is an action with a button or a form.
"""

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
from judgments.operations import Operation

Context = dict[str, Any]


def always_shown(study: Study) -> bool:
    return True


def never_shown(study: Study) -> bool:
    return False


def was_opened(study: Study) -> bool:
    """Return whether the study is or was open to people or to a rehearsal. Studies of imported judgments count, too."""
    return study.state in (Study.State.OPEN, Study.State.CLOSED)


def can_be_evaluated(study: Study) -> bool:
    """Return whether metrics can be compared with the study's answers."""
    return not KINDS[study.protocol].comparison.refusal


class StudySection(StrEnum):
    """The sections of a study in the admin, in the order of the work. The pages of a section are its tabs."""

    DESIGN = "Design"
    LAUNCH = "Launch"
    LIVE = "Live"
    FINDINGS = "Findings"
    SHARE = "Share"

    def has_content(self, study: Study) -> bool:
        match self:
            case StudySection.LAUNCH:
                return not (study.simulated or study.state == Study.State.CLOSED)
            case StudySection.LIVE | StudySection.FINDINGS:
                return was_opened(study)
        return True

    def label_for(self, study: Study) -> str:
        """Return the label of the section. The label of "Live" is "Answers" if the study is not open."""
        if self is StudySection.LIVE and study.state != Study.State.OPEN:
            return gettext("Answers")
        return gettext(self.value)


@dataclass(frozen=True, slots=True)
class StudyPage:
    """A page about a study.

    Attributes:
        name: the last part of the page's address, and of its URL name ``admin:judgments_study_<name>``.
        label: the label of the page's tab; "" for a page without a tab.
        order: the position among the tabs of the section. The section links to its first page.
        has_tab: a function that returns whether the page has a tab. The page's address works in any case.
        permission: the right that a person needs to see the page.
        section_before_opening: the section of the page until the study is opened, if it is another one.
        parent_page: for a page without a tab, the page whose tab is marked as current.
        style: the path of the page's own stylesheet below static/.
        help: the documentation page about the page, possibly with an anchor; if empty, that of its feature.
        main_for: a function that returns whether the page is the first one that is shown for a study. Without such a
            page, it is one of the platform, by the study's state.
        main_label: the text of the link to a study in the list of studies, if this is its first page.
        has_run_forms: whether the page has the forms to run an open study, which "Participants" shows otherwise.
        results_label: the text of the link to the page from the results; "" for the labels of its parts, or no link.
    """

    name: str
    label: str
    order: int
    view: Callable[[HttpRequest, Study, Context], HttpResponseBase]
    permission: str = Right.VIEW
    has_tab: Callable[[Study], bool] = always_shown
    section: StudySection = StudySection.SHARE
    section_before_opening: StudySection | None = None
    parent_page: str = ""
    style: str = ""
    help: str = ""
    main_for: Callable[[Study], bool] = never_shown
    main_label: str = ""
    has_run_forms: bool = False
    results_label: str = ""

    def section_in(self, study: Study) -> StudySection:
        if self.section_before_opening is not None and not was_opened(study):
            return self.section_before_opening
        return self.section


@dataclass(frozen=True, slots=True)
class StepForm:
    """The form of a step.

    Attributes:
        parameters: the parameters of the operation.
        fields: the names of the parameters that the form shows.
        needed: optional parameters that this form requires.
        hidden: names of hidden fields, for arguments that are not parameters.
    """

    parameters: type[Parameters]
    fields: tuple[str, ...]
    needed: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudyStep:
    """An action on a study. A form posts it to ``do/<name>/``.

    Attributes:
        run: the function that carries out the step. If it returns None, the response redirects to the page with the
            form.
        message: the message after the step; "" for none.
        has_button: a function that returns whether the step has a button at the top of the study's pages.
        primary_states, primary_pages: the states of the study and the pages in which this is the main button;
            otherwise it is in the menu.
        permission: the right that a person needs in the study.
        requires: a Django permission that the step needs besides this right, such as ``judgments.add_study``.
        job: the kind of job that the step starts. The button is hidden while such a job is queued or runs.
        inline: whether an error is shown next to the step's form (``take_refusal``).
        form: the form for ``{% step_form %}``; None if a template has the form.
        refusal_address: a function that gets the study and a key of its design, and returns the address at which an
            error about the key is shown. If it is None, the error is shown at the top of the page.
        operation: the operation that the step offers; None if the step is not one.
        design_page: the page of the step, if a button of the design's form saves the design and then carries out the
            step; "" otherwise.
    """

    name: str
    label: str
    run: Callable[[HttpRequest, Study], HttpResponse | None]
    message: str = ""
    has_button: Callable[[Study], bool] = never_shown
    primary_states: frozenset[str] = frozenset()
    primary_pages: frozenset[str] = frozenset()
    permission: str = Right.CHANGE
    requires: str = ""
    job: str = ""
    inline: bool = False
    form: StepForm | None = None
    refusal_address: Callable[[Study, str], str] | None = None
    operation: Operation | None = None
    design_page: str = ""


@dataclass(frozen=True, slots=True)
class StartPage:
    """A page to which the page "New study" has a link.

    Attributes:
        name: the last part of the page's address.
        label: the text of the link.
        text: the words before the link.
        uploads_data: whether the person uploads data on that page, so that no dataset is needed before.
    """

    name: str
    label: str
    text: str
    view: Callable[[HttpRequest, Context], HttpResponseBase]
    uploads_data: bool = False

    @property
    def address(self) -> str:
        return reverse(f"admin:judgments_study_start_{self.name}")


@dataclass(frozen=True, slots=True)
class PlanPart:
    """An app's addition to the plan of a draft. Its template gets the result of ``facts`` as ``part``.

    The arguments of the functions for facts and problems are the design, the number of HITs, and the number of items,
    including control items.
    """

    template: str
    facts: Callable[[StudyDesign, int, int], Any]
    problems: Callable[[StudyDesign, int, int], list[DesignError]] | None = None


@dataclass(frozen=True, slots=True)
class PagePart:
    """A feature's addition to the page with the name ``page``, such as a table below the page's own tables.

    Attributes:
        template: the template of the addition, which gets the result of ``facts`` as ``part``.
        label: words about the addition in the link to the page from the results, beginning as within a sentence.
    """

    page: str
    template: str
    facts: Callable[[HttpRequest, Study], Any]
    label: str = ""
