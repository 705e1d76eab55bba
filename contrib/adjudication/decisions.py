"""Send disputed units to adjudicators, and store and withdraw their decisions.

Judgments are not changed. In the consensus, an adjudicator's decision replaces the votes until it is withdrawn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.errors import AnswerProblem
from annotation.models import Adjudication, Judgment
from annotation.work.sheet.units import PageUnit
from common.amounts import with_noun
from common.errors import ObjectNotFound, WrongState
from common.parameters import MAX_REASON_LENGTH
from judgments.access.rights import RIGHTS_BY_ROLE, Right
from judgments.access.study_log import note_event
from judgments.drawing.draws import rng_for
from judgments.kinds import KINDS
from judgments.models import Study, StudyRole, Unit
from judgments.studies.designs import design_of

ADJUDICATE_PERMISSION = "annotation.change_adjudication"
State = Adjudication.State


def adjudicators(study: Study) -> QuerySet[User]:
    """Return the accounts that may decide on units of the study: those that may review this study or all studies."""
    backend = "django.contrib.auth.backends.ModelBackend"
    all_reviewers = User.objects.with_perm(ADJUDICATE_PERMISSION, backend=backend).values("pk")
    reviewer_roles = [role for role, rights in RIGHTS_BY_ROLE.items() if Right.REVIEW in rights]
    study_reviewers = StudyRole.objects.filter(study=study, role__in=reviewer_roles).values("user")
    reviewers = User.objects.filter(
        Q(pk__in=all_reviewers) | Q(pk__in=study_reviewers), is_staff=True, is_active=True
    )
    return reviewers.order_by("username")


def may_adjudicate(user: User) -> bool:
    """Return whether the account may open an adjudicator's pages: it can review all studies, or was sent a unit."""
    return user.has_perm(ADJUDICATE_PERMISSION) or Adjudication.objects.filter(adjudicator=user).exists()


def can_be_adjudicated(study: Study) -> bool:
    """Return whether one answer can replace the votes. Open answers, such as texts and lists, cannot be replaced."""
    return not KINDS[study.protocol].is_open


@transaction.atomic
def send_to_adjudicator(
    *, study: Study, units: Collection[int], adjudicator: User, by: User | None = None
) -> list[Adjudication]:
    """Send units (row ids) to ``adjudicator``. Skip units that already wait for a decision or have one.

    Raises:
        WrongState: a unit is a check question or of another study, or the study cannot be adjudicated.
    """
    rows = list(Unit.objects.filter(study=study, pk__in=units, control=False).order_by("position"))
    if not rows or len(rows) != len(set(units)):
        raise WrongState(
            pgettext(
                "staff",
                "Nothing was sent: choose one or more items of this study that are not check questions.",
            )
        )
    if not can_be_adjudicated(study):
        raise WrongState(
            pgettext("staff", "Nothing was sent: items of the protocol %(protocol)s cannot be adjudicated.")
            % {"protocol": study.protocol}
        )
    sent_unit_ids = set(
        Adjudication.objects.filter(unit__in=rows)
        .exclude(state=State.WITHDRAWN)
        .values_list("unit_id", flat=True)
    )
    votes_by_unit, kind, seed = _count_votes(study, rows), KINDS[study.protocol], design_of(study).seed
    adjudications = []
    for unit in rows:
        if unit.pk in sent_unit_ids:
            continue
        rng = rng_for(seed, f"adjudication {unit.key} {adjudicator.get_username()}")
        sides = kind.sides.draw([unit], rng)  # [] if the kind shows options in their stored order
        adjudications.append(
            Adjudication(
                study=study,
                unit=unit,
                adjudicator=adjudicator,
                side=sides[0] if sides else None,
                votes=votes_by_unit.get(unit.pk, {}),
                sent_by=by,
            )
        )
    try:
        with transaction.atomic():  # if the unique constraint refuses a row, only this is rolled back
            sent_adjudications = Adjudication.objects.bulk_create(adjudications)
    except IntegrityError:
        raise WrongState(
            pgettext("staff", "Nothing was sent: somebody sent one of these items at the same moment.")
        ) from None
    if sent_adjudications:
        note_event(
            study=study,
            what="adjudication-sent",
            sentence=f"Sent to {adjudicator.get_username()}: {with_noun(len(sent_adjudications), 'item')}.",
            by=by,
            units=[adjudication.unit.key for adjudication in sent_adjudications],
        )
    return sent_adjudications


def _count_votes(study: Study, units: Collection[Unit]) -> dict[int, dict[str, int]]:
    """Return the number of votes for each answer, by the unit's row id: ``{17: {"1.0": 2, "2.0": 1}}``."""
    rows = Judgment.objects.current().filter(assignment__study=study, unit__in=units)
    votes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for unit, value in rows.values_list("unit_id", "value"):
        votes[unit][str(value)] += 1
    return {unit: dict(sorted(count.items())) for unit, count in votes.items()}


def waiting_adjudications(user: User) -> QuerySet[Adjudication]:
    return Adjudication.objects.filter(adjudicator=user, state=State.WAITING)


def adjudication_for(*, user: User, pk: int) -> Adjudication:
    """Return the adjudication with this row id. Raise ObjectNotFound if it is withdrawn, or sent to another account."""
    rows = Adjudication.objects.exclude(state=State.WITHDRAWN).select_related(
        "study__dataset", "unit__item", "unit__reference", "unit__first", "unit__second"
    )
    adjudication = rows.filter(pk=pk, adjudicator=user).first()
    if adjudication is None:
        raise ObjectNotFound(pgettext("staff", "There is no such item for you to decide."))
    return adjudication


def page_unit_of(adjudication: Adjudication) -> PageUnit:
    """Return the unit as the adjudicator sees it, with the side that was drawn for them."""
    return PageUnit(position=1, unit=adjudication.unit, side=adjudication.side)


@transaction.atomic
def decide_adjudication(*, adjudication: Adjudication, answer: Any, reason: str = "") -> Adjudication:
    """Store the adjudicator's answer. A repeated call changes nothing.

    Args:
        answer: the answer for the options in the order in which the adjudicator saw them.

    Raises:
        AnswerProblem: the answer is invalid.
        WrongState: the unit was withdrawn, or has another decision.
    """
    design = design_of(adjudication.study)
    kind = KINDS[adjudication.study.protocol].for_design(design)
    try:
        clean_answer = kind.clean_answer(answer, unit=adjudication.unit, design=design)
    except ValueError as error:
        raise AnswerProblem(_("Nothing was decided: %(problem)s.") % {"problem": error}) from None
    # A consensus is in the stored order of the options, and without the strength or confidence of an answer.
    value = kind.outcome_of(kind.sides.to_canonical(clean_answer, side=adjudication.side))
    stored_reason = reason.strip()[:MAX_REASON_LENGTH]
    update_count = Adjudication.objects.filter(pk=adjudication.pk, state=State.WAITING).update(
        state=State.DECIDED, value=value, reason=stored_reason, decided_at=timezone.now()
    )
    adjudication.refresh_from_db(fields=["state", "value", "reason", "decided_at"])
    if not update_count and adjudication.state == State.WITHDRAWN:
        raise WrongState(_("Your decision was not stored: the item was withdrawn."))
    if not update_count and adjudication.value != value:
        raise WrongState(
            _(
                "Your new decision was not stored, because this item was already decided. The earlier "
                "decision stays."
            )
        )
    if update_count:
        note_event(
            study=adjudication.study,
            what="adjudicated",
            sentence=f"Item {adjudication.unit.key} was decided: {value}.",
            why=stored_reason,
            by=adjudication.adjudicator,
            unit=adjudication.unit.key,
            value=value,
        )
    return adjudication


@transaction.atomic
def withdraw_adjudication(*, adjudication: Adjudication, by: User | None = None) -> Adjudication:
    """Withdraw a unit from adjudication, decided or not, so that its votes count again."""
    update_count = (
        Adjudication.objects.filter(pk=adjudication.pk)
        .exclude(state=State.WITHDRAWN)
        .update(state=State.WITHDRAWN, withdrawn_at=timezone.now(), withdrawn_by=by)
    )
    if update_count:
        sentence = f"Item {adjudication.unit.key} was withdrawn from adjudication."
        note_event(
            study=adjudication.study,
            what="adjudication-withdrawn",
            sentence=sentence,
            by=by,
            unit=adjudication.unit.key,
        )
    adjudication.refresh_from_db()
    return adjudication
