"""Disputed units, decided by a person who does not see the votes (docs/adjudication.md).

Judgments do not change: the consensus puts a decision in the place of the votes until it is withdrawn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AnswerProblem
from annotation.models import Adjudication, Judgment
from annotation.work.presentation import Place
from common.errors import NotThere, WrongState
from judgments.access.roles import RIGHTS, Right
from judgments.drawing.draws import rng_for
from judgments.kinds import KINDS
from judgments.models import Study, StudyRole, Unit
from judgments.studies.log import note_event
from judgments.studies.studies import design_of

PERMISSION = "annotation.change_adjudication"
LONGEST_REASON = 500
State = Adjudication.State


def adjudicators(study: Study) -> QuerySet[User]:
    """Return staff accounts with the permission, or with the right to review the study."""
    backend = "django.contrib.auth.backends.ModelBackend"
    everywhere = User.objects.with_perm(PERMISSION, backend=backend).values("pk")
    reviewing = [role for role, rights in RIGHTS.items() if Right.REVIEW in rights]
    here = StudyRole.objects.filter(study=study, role__in=reviewing).values("user")
    chosen = User.objects.filter(Q(pk__in=everywhere) | Q(pk__in=here), is_staff=True, is_active=True)
    return chosen.order_by("username")


def may_adjudicate(user: User) -> bool:
    return user.has_perm(PERMISSION) or Adjudication.objects.filter(adjudicator=user).exists()


def can_be_adjudicated(study: Study) -> bool:
    """Return True if one answer can replace the workers' answers: not for texts or lists."""
    return not KINDS[study.protocol].is_open


@transaction.atomic
def send_to_adjudicator(
    *, study: Study, units: Collection[int], adjudicator: User, by: User | None = None
) -> list[Adjudication]:
    """Send units (row ids) to ``adjudicator``. Skip those that are waiting or decided."""
    found = list(Unit.objects.filter(study=study, pk__in=units, control=False).order_by("position"))
    if not found or len(found) != len(set(units)):
        raise WrongState(
            "Nothing was sent: choose one or more units of this study; control items have an answer."
        )
    if not can_be_adjudicated(study):
        raise WrongState(f"Nothing was sent: answers of {study.protocol} are not decided by one person.")
    if not adjudicators(study).filter(pk=adjudicator.pk).exists():
        raise WrongState(f"Nothing was sent: {adjudicator.get_username()!r} may not adjudicate.")
    there = set(
        Adjudication.objects.filter(unit__in=found)
        .exclude(state=State.WITHDRAWN)
        .values_list("unit_id", flat=True)
    )
    votes, kind, seed = _votes(study, found), KINDS[study.protocol], design_of(study).seed
    made = []
    for unit in found:
        if unit.pk in there:
            continue
        rng = rng_for(seed, f"adjudication {unit.key} {adjudicator.get_username()}")
        sides = kind.sides.draw([unit], rng)
        made.append(
            Adjudication(
                study=study,
                unit=unit,
                adjudicator=adjudicator,
                side=sides[0] if sides else None,
                votes=votes.get(unit.pk, {}),
                sent_by=by,
            )
        )
    try:
        with transaction.atomic():
            sent = Adjudication.objects.bulk_create(made)
    except IntegrityError:
        raise WrongState("Nothing was sent: somebody sent one of these units at the same moment.") from None
    if sent:
        note_event(
            study=study,
            what="adjudication-sent",
            words=f"{len(sent)} unit{'' if len(sent) == 1 else 's'} sent to {adjudicator.get_username()}.",
            by=by,
            units=[one.unit.key for one in sent],
        )
    return sent


def _votes(study: Study, units: Collection[Unit]) -> dict[int, dict[str, int]]:
    rows = Judgment.objects.current().filter(assignment__study=study, unit__in=units)
    votes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for unit, value in rows.values_list("unit_id", "value"):
        votes[unit][str(value)] += 1
    return {unit: dict(sorted(count.items())) for unit, count in votes.items()}


def waiting_for(user: User) -> QuerySet[Adjudication]:
    return Adjudication.objects.filter(adjudicator=user, state=State.WAITING)


def own_adjudication(*, user: User, pk: int) -> Adjudication:
    """Return a unit sent to this person, with what its page needs."""
    rows = Adjudication.objects.exclude(state=State.WITHDRAWN).select_related(
        "study__dataset", "unit__item", "unit__reference", "unit__first", "unit__second"
    )
    found = rows.filter(pk=pk, adjudicator=user).first()
    if found is None:
        raise NotThere("There is no such unit for you to decide.")
    return found


def place_of(adjudication: Adjudication) -> Place:
    return Place(position=1, unit=adjudication.unit, side=adjudication.side)


@transaction.atomic
def decide(*, adjudication: Adjudication, given: Any, reason: str = "") -> Adjudication:
    """Store the final answer, ``given`` as the person saw the unit. A repeated call changes nothing."""
    kind, design = KINDS[adjudication.study.protocol], design_of(adjudication.study)
    try:
        checked = kind.checked(given, unit=adjudication.unit, design=design)
    except ValueError as error:
        raise AnswerProblem(_("Nothing was decided: %(problem)s.") % {"problem": error}) from None
    value = kind.sides.canonical(checked, side=adjudication.side)
    said = reason.strip()[:LONGEST_REASON]
    moved = Adjudication.objects.filter(pk=adjudication.pk, state=State.WAITING).update(
        state=State.DECIDED, value=value, reason=said, decided_at=timezone.now()
    )
    adjudication.refresh_from_db(fields=["state", "value", "reason", "decided_at"])
    if not moved and adjudication.state == State.WITHDRAWN:
        raise WrongState(_("Your decision was not stored: the unit was withdrawn."))
    if not moved and adjudication.value != value:
        raise WrongState(_("Your decision of before stays: this unit was decided already."))
    if moved:
        note_event(
            study=adjudication.study,
            what="adjudicated",
            words=f"Unit {adjudication.unit.key} was decided: {value}.",
            why=said,
            by=adjudication.adjudicator,
            unit=adjudication.unit.key,
            value=value,
        )
    return adjudication


@transaction.atomic
def withdraw(*, study: Study, pk: int, by: User | None = None) -> Adjudication:
    """Withdraw a unit, decided or not, so that the votes count again. A repeated call changes nothing."""
    found = Adjudication.objects.filter(study=study, pk=pk).select_related("unit").first()
    if found is None:
        raise NotThere("There is no such adjudication in this study.")
    moved = (
        Adjudication.objects.filter(pk=pk)
        .exclude(state=State.WITHDRAWN)
        .update(state=State.WITHDRAWN, withdrawn_at=timezone.now(), withdrawn_by=by)
    )
    if moved:
        words = f"Unit {found.unit.key} was withdrawn from adjudication."
        note_event(study=study, what="adjudication-withdrawn", words=words, by=by, unit=found.unit.key)
    found.refresh_from_db()
    return found


def decisions_of(study: Study) -> dict[int, Adjudication]:
    rows = Adjudication.objects.filter(study=study, state=State.DECIDED).annotate(
        who=F("adjudicator__username")
    )
    return {row.unit_id: row for row in rows}
