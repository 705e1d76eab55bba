"""The admin's first page: a person's studies, their open tasks in these studies, and a study's next action."""

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
from judgments.access.visible_rows import may_view, takes_part, visible_rows
from judgments.admin.base import BoundedPaginator, count_of
from judgments.models import HIT, Dataset, Job, Study
from judgments.models.jobs import QUIET_JOBS
from judgments.studies.pages import was_opened
from judgments.studies.study_page import PAGES, first_page, study_page_address

PAGE_SIZE = 20
FINISHED_STATES = ("submitted", "approved", "rejected")

NEEDS: dict[str, Need] = {}  # in order of urgency; apps fill it (add_needs)


@dataclass(frozen=True, slots=True)
class Need:
    """Rows of a study that wait for a person's action.

    Attributes:
        page: the study's page that shows the rows.
        labels: a label for one row, and a label for several rows.
        rows: a function that returns the waiting rows of all studies.
        button: the label of the study's button.
        right: the right that a person needs to handle the rows.
    """

    name: str
    page: str
    labels: tuple[str, str]
    rows: Callable[[], QuerySet[Any]]
    button: str
    right: Right


@dataclass(frozen=True, slots=True)
class Waiting:
    text: str
    link: str
    button: str


@dataclass(frozen=True, slots=True)
class NextAction:
    label: str
    link: str
    urgent: bool = False


def add_needs(*needs: Need, before: str = "") -> None:
    """Add needs to the list, at its end or before the one that is named ``before``."""
    less_urgent = {}
    if before:
        names = list(NEEDS)
        less_urgent = {name: NEEDS.pop(name) for name in names[names.index(before) :]}
    NEEDS.update({need.name: need for need in needs} | less_urgent)


def with_progress(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Annotate studies with the numbers of assignments ``wanted`` and ``finished``."""
    hits = HIT.objects.filter(study=OuterRef("pk")).order_by().values("study")
    wanted = hits.annotate(n=Sum(F("required") - F("spared"))).values("n")
    finished = (
        hits.filter(assignments__state__in=FINISHED_STATES).annotate(n=Count("assignments")).values("n")
    )
    return studies.annotate(
        wanted=Coalesce(Subquery(wanted, output_field=IntegerField()), 0),
        finished=Coalesce(Subquery(finished, output_field=IntegerField()), 0),
    )


def with_needs(studies: QuerySet[Study]) -> QuerySet[Study]:
    return studies.annotate(**{_column(name): count_of(need.rows(), "study") for name, need in NEEDS.items()})


def waiting_for_a_person(study: Study, rights: Collection[str]) -> list[Waiting]:
    """Return the tasks of a person with these rights in the study, from the most urgent; [] for a rehearsal.

    Args:
        study: a row of ``with_needs``.
    """
    waiting = []
    for name, need in NEEDS.items():
        count = getattr(study, _column(name))
        if count and need.right in rights and not study.simulated:
            singular, plural = need.labels
            text = gettext(singular) if count == 1 else f"{thousands(count)} {gettext(plural)}"
            waiting.append(Waiting(text, study_page_address(study, need.page), gettext(need.button)))
    return waiting


def next_action(study: Study, waiting: Sequence[Waiting], rights: Collection[str]) -> NextAction:
    if waiting:
        return NextAction(waiting[0].button, waiting[0].link, urgent=True)
    if study.simulated and not was_opened(study) and "rehearsal" in PAGES:
        return NextAction(gettext("See the rehearsal"), first_page(study))
    may_change = Right.CHANGE in rights
    labels = {
        Study.State.DRAFT.value: gettext("Continue the design") if may_change else gettext("View the design"),
        Study.State.GENERATED.value: gettext("Launch the study")
        if may_change
        else gettext("View the checklist"),
        Study.State.OPEN.value: gettext("Open the dashboard"),
    }
    return NextAction(labels.get(study.state, gettext("View the results")), first_page(study))


def _column(name: str) -> str:
    return f"waits_{name}"


def own_studies(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the first page, in a constant number of queries."""
    user = request.user
    context["title"] = gettext("Your studies")
    if takes_part(user) or user.has_perm("judgments.view_study") or user.has_perm("judgments.add_study"):
        studies = Study.objects.visible_to(user)
        studies_shown = with_needs(with_progress(studies.select_related("dataset")))
        page = BoundedPaginator(studies_shown.order_by("-created_at", "slug"), PAGE_SIZE).get_page(
            request.GET.get("page")
        )
        by_state = dict(studies.order_by().values_list("state").annotate(n=Count("pk")))
        context |= {
            "states": [
                (label, by_state[value]) for value, label in Study.State.choices if by_state.get(value)
            ],
            "page": page,
            "studies": _entries(user, list(page.object_list)),
            "may_add_study": user.has_perm("judgments.add_study"),
        }
    if may_view(user, Dataset):
        context |= {
            "datasets": visible_rows(Dataset.objects.all(), user).count(),
            "may_add_dataset": user.has_perm("judgments.add_dataset"),
        }
    if user.is_active and user.is_staff:
        under_way = Job.objects.under_way().exclude(kind__in=QUIET_JOBS)
        context["jobs"] = list(visible_rows(under_way, user)[:PAGE_SIZE])
    return context


def _entries(user: Person, studies: list[Study]) -> list[dict[str, Any]]:
    rights, entries = rights_in(user, studies), []
    for study in studies:
        waiting = waiting_for_a_person(study, rights[study.pk])
        entries.append(
            {
                "study": study,
                "link": first_page(study),
                "waiting": waiting,
                "next": next_action(study, waiting, rights[study.pk]),
            }
        )
    return entries
