"""What of a study waits for a person, counted for many studies in one query; and the next thing to do with each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext

from common.amounts import thousands
from judgments.access.roles import Right
from judgments.admin.base import count_of
from judgments.models import HIT, Study
from judgments.studies.study_page import first_page, page_address, was_opened

FINISHED = ("submitted", "approved", "rejected")


@dataclass(frozen=True, slots=True)
class Need:
    """A sort of rows of a study that wait for a person; declared by the app that has them.

    Attributes:
        page: the name of the study's page where a person looks at them.
        words: for one row, and for several.
        rows: those that wait, of all studies.
        button: what the button of a study says that has such rows.
        right: what a person must be allowed to do with them.
    """

    name: str
    page: str
    words: tuple[str, str]
    rows: Callable[[], QuerySet[Any]]
    button: str
    right: Right


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many rows of a need a study has, and where."""

    words: str
    link: str
    button: str


@dataclass(frozen=True, slots=True)
class NextAction:
    label: str
    link: str
    urgent: bool = False


NEEDS: dict[str, Need] = {}  # in the order of urgency, as the apps declare them


def add_needs(*needs: Need) -> None:
    NEEDS.update({need.name: need for need in needs})


def with_progress(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Annotate how many pages of work are ``wanted``, and how many were ``finished``."""
    hits = HIT.objects.filter(study=OuterRef("pk")).order_by().values("study")
    wanted = hits.annotate(n=Sum("required")).values("n")
    finished = hits.filter(assignments__state__in=FINISHED).annotate(n=Count("assignments")).values("n")
    return studies.annotate(
        wanted=Coalesce(Subquery(wanted, output_field=IntegerField()), 0),
        finished=Coalesce(Subquery(finished, output_field=IntegerField()), 0),
    )


def with_needs(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Annotate how many rows of each need wait."""
    return studies.annotate(**{_column(name): count_of(need.rows(), "study") for name, need in NEEDS.items()})


def waiting_for_a_person(study: Study, rights: Collection[str]) -> list[Waiting]:
    """Return what waits for a person of these rights, most urgent first; ``study`` comes from ``with_needs``.

    What a rehearsal leaves waits for nobody.
    """
    found = []
    for name, need in NEEDS.items():
        count = getattr(study, _column(name))
        if count and need.right in rights and not study.simulated:
            one, several = need.words
            words = gettext(one) if count == 1 else f"{thousands(count)} {gettext(several)}"
            found.append(Waiting(words, page_address(study, need.page), gettext(need.button)))
    return found


def next_action(study: Study, waiting: Sequence[Waiting], rights: Collection[str]) -> NextAction:
    """Return the one thing to do next with a study."""
    if waiting:
        return NextAction(waiting[0].button, waiting[0].link, urgent=True)
    if study.simulated and not was_opened(study):
        return NextAction(gettext("See the rehearsal"), first_page(study))
    may_change = Right.CHANGE in rights
    labels = {
        Study.State.DRAFT.value: gettext("Go on designing") if may_change else gettext("See the design"),
        Study.State.GENERATED.value: gettext("Launch it") if may_change else gettext("See the checklist"),
        Study.State.OPEN.value: gettext("Watch it"),
    }
    return NextAction(labels.get(study.state, gettext("See the findings")), first_page(study))


def _column(name: str) -> str:
    return f"waits_{name}"
