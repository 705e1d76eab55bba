"""What is asked of a crowd: publishing a study and taking it down."""

from __future__ import annotations

from django.contrib.auth.models import User

from annotation.crowds.delivery import carry_out_calls
from annotation.crowds.publishing import begin_closing, begin_opening, carry_out_opening, left_to_do
from annotation.crowds.sync import ask_to_sync
from annotation.models import CrowdCall
from judgments.models import Study
from judgments.study_operations import FollowUp, Outcome, operation


def _ask_now(study: Study) -> str:
    carried = carry_out_calls(study=study)
    return f"{carried.stopped} {left_to_do(study, carried)}".strip()


def _ask_later(study: Study, by: User | None) -> None:
    if CrowdCall.objects.filter(study=study, state=CrowdCall.State.WAITING).exists():
        ask_to_sync(study=study, by=by)


ASK_THE_CROWD = FollowUp(now=_ask_now, later=_ask_later)
# for what may be much: an HTTP call does not wait for the crowd either, the next sync asks it
SYNC_LATER = FollowUp(now=lambda study: "", later=_ask_later)


@operation(
    "open",
    "Let workers in",
    then=FollowUp(now=lambda study: carry_out_opening(study=study), later=_ask_later),
)
def open_to_workers(*, study: Study, by: User | None) -> Outcome:
    """Publishes the study to its crowd; twice is harmless."""
    return Outcome(begin_opening(study=study, by=by))


@operation("close", "Offer no more work", then=ASK_THE_CROWD)
def close(*, study: Study, by: User | None) -> Outcome:
    """Who holds a HIT may still submit it; twice is harmless."""
    begin_closing(study=study, by=by)
    return Outcome("The study is closed; who holds a HIT may still hand it in.")
