"""Approving and rejecting finished work: what is paid for. Whether answers are used is another question."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db import transaction

from annotation.models import Assignment
from judgments.errors import WrongState
from judgments.models import Study

LONGEST_REASON = 500


@transaction.atomic
def approve_assignments(*, study: Study, assignments: Collection[UUID]) -> int:
    """submitted or rejected -> approved; how many changed. Those that are approved already stay so.

    Raises:
        WrongState: one of them is no finished work of this study; nothing changes.
    """
    _finished(study, assignments)
    waiting = Assignment.objects.filter(pk__in=assignments, state__in=["submitted", "rejected"])
    return waiting.update(state=Assignment.State.APPROVED, reason="")


@transaction.atomic
def reject_assignments(*, study: Study, assignments: Collection[UUID], reason: str) -> int:
    """submitted -> rejected, with a reason that the worker reads; how many changed.

    Raises:
        WrongState: there is no reason, or one of them is no finished work of this study or was approved before; nothing
            changes.
    """
    if not reason.strip():
        raise WrongState("Nothing was changed: a rejection needs a reason that the worker can read.")
    states = _finished(study, assignments)
    paid = [pk for pk, state in states.items() if state == Assignment.State.APPROVED]
    if paid:
        raise WrongState(f"Nothing was changed: assignment {paid[0]} was approved before.")
    waiting = Assignment.objects.filter(pk__in=assignments, state=Assignment.State.SUBMITTED)
    return waiting.update(state=Assignment.State.REJECTED, reason=reason.strip()[:LONGEST_REASON])


def reject_assignment(*, study: Study, assignment: UUID, reason: str) -> bool:
    """``reject_assignments`` for one; whether it changed."""
    return bool(reject_assignments(study=study, assignments=[assignment], reason=reason))


def _finished(study: Study, assignments: Collection[UUID]) -> dict[UUID, str]:
    """The states of the assignments, held until the transaction ends."""
    own = Assignment.objects.filter(study=study, pk__in=assignments).finished()
    states = dict(own.select_for_update().order_by("pk").values_list("pk", "state"))
    missing = [pk for pk in assignments if pk not in states]
    if missing:
        raise WrongState(
            f"Nothing was changed: assignment {missing[0]} is no finished work of study {study.slug!r}."
        )
    return states
