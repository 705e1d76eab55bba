"""What a person decides about a case: the worker is excluded, or the case is dismissed and what it did taken back."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.models import Case, Exclusion, QualityRule
from annotation.services.exclusions import (
    exclude_worker,
    lift_exclusion,
    pause_worker,
    resume_worker,
    standing_exclusion,
)
from judgments.errors import WrongState
from judgments.services.events import note_event

STOPS = (QualityRule.Action.PAUSE, QualityRule.Action.EXCLUDE)


@transaction.atomic
def confirm_case(*, case: Case, why: str, by: User | None = None) -> Case:
    """open -> confirmed: the worker is excluded, where the rule had not done it already.

    Raises:
        WrongState: no reason is given, or the case was decided.
    """
    locked = _open_case(case, why)
    exclusion = standing_exclusion(locked.study, locked.worker) or exclude_worker(
        study=locked.study, worker=locked.worker, rule=locked.rule, why=why, evidence=locked.evidence, by=by
    )
    return _decide(locked, Case.State.CONFIRMED, why, by, exclusion)


@transaction.atomic
def dismiss_case(*, case: Case, why: str, by: User | None = None) -> Case:
    """open -> dismissed: the exclusion that the case made is lifted, and a paused worker goes on unless another open
    case says otherwise. The rule stays silent about this worker.

    Raises:
        WrongState: no reason is given, or the case was decided.
    """
    locked = _open_case(case, why)
    decided = _decide(locked, Case.State.DISMISSED, why, by, locked.exclusion)
    if locked.exclusion is not None:
        lift_exclusion(exclusion=locked.exclusion, why=why, by=by)
    others = Case.objects.filter(
        study=locked.study_id, worker=locked.worker_id, state=Case.State.OPEN, action__in=STOPS
    )
    # an exclusion that is lifted makes its worker active
    change = pause_worker if others.exists() else resume_worker
    change(study=locked.study, worker=locked.worker)
    return decided


@transaction.atomic
def lift_by_hand(*, exclusion: Exclusion, why: str, by: User | None = None) -> Exclusion:
    """Take an exclusion back; cases that confirmed it stay as they are, those that still wait are dismissed with it.

    Raises:
        WrongState: no reason is given.
    """
    _require_reason(why)
    # cases before exclusions, as where a case is decided
    waiting = Case.objects.filter(exclusion=exclusion, state=Case.State.OPEN).order_by("pk")
    cases = list(waiting.select_for_update())
    lifted = lift_exclusion(exclusion=exclusion, why=why, by=by)
    for case in cases:
        _decide(case, Case.State.DISMISSED, why, by, exclusion)
    return lifted


def _open_case(case: Case, why: str) -> Case:
    _require_reason(why)
    locked = Case.objects.select_for_update(of=("self",)).select_related("study", "worker", "exclusion")
    found = locked.get(pk=case.pk)
    if found.state != Case.State.OPEN:
        raise WrongState(f"Nothing was changed: this case was {found.get_state_display()} before.")
    return found


def _require_reason(why: str) -> None:
    if not why.strip():
        raise WrongState("Nothing was changed: say why, in a sentence that others can read.")


def _decide(case: Case, state: Case.State, why: str, by: User | None, exclusion: Exclusion | None) -> Case:
    case.state, case.decision, case.decided_by = state, why.strip()[:500], by
    case.decided_at, case.exclusion = timezone.now(), exclusion
    case.save(update_fields=["state", "decision", "decided_by", "decided_at", "exclusion"])
    note_event(
        study=case.study,
        what=f"case-{state.value}",
        words=f"The case of {case.worker.name}, found by the rule {case.rule}, was {state.label}.",
        why=why.strip(),
        by=by,
        case=case.pk,
        worker=case.worker.name,
    )
    return case
