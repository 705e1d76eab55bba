"""Steps that the tests run in processes that may be killed. Each function prints its result as one line of JSON."""

import json
import sys
from collections import Counter
from datetime import timedelta

from django.utils import timezone

from annotation.crowds.opening import begin_closing, begin_opening
from annotation.crowds.outbox.resolution import resolve_as_done, resolve_as_not_done
from annotation.crowds.panel.sessions import completion_code_for
from annotation.crowds.people import session_pseudonym
from annotation.crowds.sessions import open_session, worker_for_crowd_id
from annotation.crowds.sync.run import sync_with_crowd
from annotation.models import Budget, CrowdCall, CrowdSession, Publication, RawId
from annotation.money.ledger import ledger_sums, reserved_cents
from annotation.money.payments import decide_session, pay_bonus
from annotation.work.joining import join_from_crowd
from contrib.prolific.tests.panel import panel_study
from evaluation.data.integrity import check_integrity
from judgments.models import Study
from judgments.studies.designs import design_of

BONUS = 30
REJECTED = 2


def make() -> None:
    """Open a study without sending its messages; print the completion code."""
    study = panel_study(approve_after_hours=0)
    begin_opening(study=study)
    print_result({"code": completion_code_for(study, design_of(study), "completed")})


def work(people: dict[str, str]) -> None:
    """Let people finish their sessions; decide on all of them, and order bonuses for half of them.

    Args:
        people: the submission of each participant.
    """
    study = Study.objects.get()
    publication = Publication.objects.get()
    for number, (participant, submission) in enumerate(sorted(people.items())):
        worker = worker_for_crowd_id(study=study, crowd_id=participant, id_name="PROLIFIC_PID")
        join_from_crowd(study=study, worker=worker, consent=True)
        name = session_pseudonym(study.platform, submission)
        session = open_session(publication=publication, worker=worker, external_id=name)
        RawId.objects.create(worker=worker, session=session, name="SESSION_ID", value=submission)
        CrowdSession.objects.filter(pk=session.pk).update(status="submitted")
        session.refresh_from_db()
        decide_session(session=session, approve=number >= REJECTED, why="Looked at.")
        if number % 2:
            pay_bonus(session=session, cents=BONUS, why="Below the floor.")
    begin_closing(study=study)
    print_result({})


def go_on(shown: dict[str, int]) -> None:
    """Synchronise as if much time had passed: messages are due, and a person resolves bonuses with an unknown outcome.

    Args:
        shown: the number of bonuses that the person sees at Prolific, by submission.
    """
    study, now = Study.objects.get(), timezone.now()
    CrowdCall.objects.update(next_at=now)
    for call in CrowdCall.objects.filter(kind="bonus").exclude(state="done"):
        if "paying" in call.answer:
            call.answer["paying"] = (now - timedelta(hours=2)).isoformat()
            call.save(update_fields=["answer"])
        if call.has_unknown_outcome and call.session is not None:
            paid = shown[call.session.raw_ids.get().value]
            (resolve_as_done if paid else resolve_as_not_done)(call=call)
    sync_with_crowd(study=study, wait=lambda seconds: None)
    states = Counter(CrowdCall.objects.values_list("state", flat=True))
    print_result({"left": sum(count for state, count in states.items() if state != "done")})


def rows() -> None:
    """Print the sums and states of the installation."""
    budget = Budget.objects.get()
    print_result(
        {
            "external_id": Publication.objects.get().external_id,
            "budget": [budget.reserved_cents, budget.spent_cents],
            "ledger": ledger_sums(budget),
            "kept": reserved_cents(budget),
            "sessions": Counter(CrowdSession.objects.values_list("status", flat=True)),
            "integrity": check_integrity().problems,
        }
    )


def print_result(what: object) -> None:
    """Print a result as one line."""
    sys.stdout.write(f"{json.dumps(what)}\n")
