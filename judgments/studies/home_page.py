"""The admin's first page: a person's studies, with the tasks that wait for the person and each study's next action."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.translation import gettext

from common.amounts import thousands
from judgments.access.rights import Person, Right, rights_in
from judgments.access.visible_rows import has_visible_study, may_view, visible_rows
from judgments.admin.base import BoundedPaginator
from judgments.admin.columns import count_rows_by_key
from judgments.models import HIT, Dataset, Job, Study
from judgments.studies.study_page import first_page, main_page, study_page_address

PAGE_SIZE = 20
FINISHED_STATES = ("submitted", "approved", "rejected")  # of assignments, whose model this app cannot import

NEEDS: dict[str, Need] = {}  # by name, from the most urgent; apps fill it (``add_needs``)


@dataclass(frozen=True, slots=True)
class Need:
    """A kind of rows that wait for a person's action, such as assignments to review.

    Attributes:
        page: the study's page that shows the rows.
        labels: a label for one row, and a label for several rows.
        rows: a function that returns the waiting rows of all studies.
        button: the label of a study's button while such rows wait.
        right: the right that a person needs to handle the rows.
    """

    name: str
    page: str
    labels: tuple[str, str]
    rows: Callable[[], QuerySet[Any]]
    button: str
    right: Right


@dataclass(frozen=True, slots=True)
class OpenTask:
    """A need of one study, worded for a person."""

    text: str
    link: str
    button: str


@dataclass(frozen=True, slots=True)
class NextAction:
    """The button of a study in the list: its label and address, and whether a task waits for the person."""

    label: str
    link: str
    urgent: bool = False


def add_needs(*needs: Need, before: str = "") -> None:
    """Add needs to the list, at its end or before the one that is named ``before``."""
    later_needs = {}
    if before:
        names = list(NEEDS)
        later_needs = {name: NEEDS.pop(name) for name in names[names.index(before) :]}
    NEEDS.update({need.name: need for need in needs} | later_needs)


def with_progress(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Annotate studies with the numbers of assignments ``wanted`` (slots not ``spared``) and ``finished``."""
    hits = HIT.objects.filter(study=OuterRef("pk")).order_by().values("study")
    wanted_counts = hits.annotate(n=Sum(F("required") - F("spared"))).values("n")
    finished_counts = (
        hits.filter(assignments__state__in=FINISHED_STATES).annotate(n=Count("assignments")).values("n")
    )
    return studies.annotate(
        wanted=Coalesce(Subquery(wanted_counts, output_field=IntegerField()), 0),
        finished=Coalesce(Subquery(finished_counts, output_field=IntegerField()), 0),
    )


def with_needs(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Annotate studies with the number of waiting rows for each need."""
    counts = {_count_column(name): count_rows_by_key(need.rows(), "study") for name, need in NEEDS.items()}
    return studies.annotate(**counts)


def open_tasks_of(study: Study, rights: Collection[str]) -> list[OpenTask]:
    """Return the tasks of a person with these rights in the study, from the most urgent; [] for a rehearsal.

    Args:
        study: a row of ``with_needs``.
    """
    tasks = []
    for name, need in NEEDS.items():
        count = getattr(study, _count_column(name))
        if count and need.right in rights and not study.simulated:
            singular, plural = need.labels
            text = gettext(singular) if count == 1 else f"{thousands(count)} {gettext(plural)}"
            tasks.append(OpenTask(text, study_page_address(study, need.page), gettext(need.button)))
    return tasks


def next_action(study: Study, tasks: Sequence[OpenTask], rights: Collection[str]) -> NextAction:
    """Return the most urgent task as an action or, if there is none, the main page for the study's state."""
    if tasks:
        return NextAction(tasks[0].button, tasks[0].link, urgent=True)
    if page := main_page(study):
        return NextAction(gettext(page.main_label), first_page(study))
    may_change = Right.CHANGE in rights
    if study.state == Study.State.DRAFT:
        label = gettext("Continue the design") if may_change else gettext("View the design")
    elif study.state == Study.State.GENERATED:
        label = gettext("Launch the study") if may_change else gettext("View the checklist")
    elif study.state == Study.State.OPEN:
        label = gettext("View the participants")
    else:
        label = gettext("View the results")
    return NextAction(label, first_page(study))


def _count_column(name: str) -> str:
    return f"waits_{name}"


def own_studies(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the person's studies, datasets and running jobs to the context of the admin's first page.

    The number of queries does not depend on the number of studies.
    """
    user = request.user
    context["title"] = gettext("Your studies")
    if (
        has_visible_study(user)
        or user.has_perm("judgments.view_study")
        or user.has_perm("judgments.add_study")
    ):
        studies = Study.objects.visible_to(user)
        annotated_studies = with_needs(with_progress(studies.select_related("dataset")))
        page = BoundedPaginator(annotated_studies.order_by("-created_at", "slug"), PAGE_SIZE).get_page(
            request.GET.get("page")
        )
        counts = dict(studies.order_by().values_list("state").annotate(n=Count("pk")))
        context |= {
            "states": [(label, counts[value]) for value, label in Study.State.choices if counts.get(value)],
            "page": page,
            "studies": _study_entries(user, list(page.object_list)),
            "may_add_study": user.has_perm("judgments.add_study"),
        }
    if may_view(user, Dataset):
        context |= {
            "dataset_count": visible_rows(Dataset.objects.all(), user).count(),
            "may_add_dataset": user.has_perm("judgments.add_dataset"),
        }
    if user.is_active and user.is_staff:
        running_jobs = Job.objects.under_way().listed()
        context["jobs"] = list(visible_rows(running_jobs, user)[:PAGE_SIZE])
    return context


def _study_entries(user: Person, studies: list[Study]) -> list[dict[str, Any]]:
    rights, entries = rights_in(user, studies), []
    for study in studies:
        tasks = open_tasks_of(study, rights[study.pk])
        entries.append(
            {
                "study": study,
                "link": first_page(study),
                "open_tasks": tasks,
                "next_action": next_action(study, tasks, rights[study.pk]),
            }
        )
    return entries
