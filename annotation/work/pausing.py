"""Pause and resume an open study."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.crowds.publishing import ask_to_expire, offer_again
from annotation.work.claims import free_reserved, shut_gate
from common.errors import WrongState
from judgments.models import Study
from judgments.studies.log import note_event


@transaction.atomic
def pause_study(*, study: Study, why: str, by: User | None = None) -> None:
    """Stop claims here and at the crowd, and release reservations. Current leases go on.

    Pausing a paused study changes nothing. The caller sends the outbox messages (``carry_out_calls``).
    """
    shut_gate(study)
    _lock_study(study)
    if study.paused_at is not None:
        return
    reason = reason_of(why)
    _require_open(study, "only an open study can be paused")
    study.paused_at = timezone.now()
    study.save(update_fields=["paused_at"])
    asked = ask_to_expire(study=study, by=by, for_a_while=True, why=reason)
    free_reserved(study=study)
    crowd = (
        f" The crowd is asked to let nobody new in, for {_counted(asked, 'publication')}." if asked else ""
    )
    note_event(study=study, what="paused", words=f"Paused: no more claims.{crowd}", why=reason, by=by)


@transaction.atomic
def resume_study(*, study: Study, why: str, by: User | None = None) -> None:
    """Offer work again, here and at the crowd. Resuming a study that is not paused changes nothing.

    Raises:
        WrongState: the study is not open, the reason is missing, or the budget does not suffice.
        OverBudget: slots that were given back meanwhile cost more than is left; the study stays paused.
    """
    _lock_study(study)
    _require_open(study, "only an open study can be resumed")
    since = study.paused_at
    if since is None:
        return
    reason = reason_of(why)
    study.paused_at = None
    study.save(update_fields=["paused_at"])
    asked = offer_again(study=study, since=since, by=by, why=reason) if study.place else 0
    crowd = f" The crowd is asked to offer {_counted(asked, 'publication')} again." if asked else ""
    note_event(study=study, what="resumed", words=f"Resumed.{crowd}", why=reason, by=by)


def reason_of(why: str) -> str:
    """Return the stripped reason for the log."""
    reason = why.strip()
    if not reason:
        raise WrongState("Nothing was changed: a reason is missing; the study's log shows it.")
    return reason[:500]


def _lock_study(study: Study) -> None:
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    study.refresh_from_db()


def _require_open(study: Study, otherwise: str) -> None:
    if study.state != Study.State.OPEN:
        raise WrongState(f"Nothing was changed: study {study.slug!r} is {study.state}; {otherwise}.")


def _counted(number: int, what: str) -> str:
    return f"one {what}" if number == 1 else f"{number:,} {what}s"
