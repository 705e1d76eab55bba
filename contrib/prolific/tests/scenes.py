"""What happens inside an installation whose processes are killed: each function prints one line of JSON."""

import json
import sys
from collections import Counter
from datetime import timedelta

from django.utils import timezone

from annotation.crowds.opening import begin_closing, begin_opening
from annotation.crowds.outbox.resolution import resolve_as_done, resolve_as_not_done
from annotation.crowds.panel.backend import code_for
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
    """A study that is open here and not put up yet; the code that finished work goes back with."""
    study = panel_study(approve_after_hours=0)
    begin_opening(study=study)
    told({"code": code_for(study, design_of(study), "completed")})


def work(people: dict[str, str]) -> None:
    """People finish their sessions; all are decided, and half of them get a bonus."""
    study = Study.objects.get()
    publication = Publication.objects.get()
    for number, (participant, submission) in enumerate(sorted(people.items())):
        worker = worker_for_crowd_id(study=study, raw=participant, name="PROLIFIC_PID")
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
    told({})


def go_on(shown: dict[str, int]) -> None:
    """Later: what waits is due, a bonus that did not show for an hour is left to a person, and they look; then a
    comparison.

    Args:
        shown: submission -> how many bonuses a person sees at Prolific.
    """
    study, now = Study.objects.get(), timezone.now()
    CrowdCall.objects.update(next_at=now)
    for call in CrowdCall.objects.filter(kind="bonus").exclude(state="done"):
        if "paying" in call.answer:
            call.answer["paying"] = (now - timedelta(hours=2)).isoformat()
            call.save(update_fields=["answer"])
        if call.unsure and call.session is not None:
            paid = shown[call.session.raw_ids.get().value]
            (resolve_as_done if paid else resolve_as_not_done)(call=call)
    sync_with_crowd(study=study, wait=lambda seconds: None)
    states = Counter(CrowdCall.objects.values_list("state", flat=True))
    told({"left": sum(count for state, count in states.items() if state != "done")})


def rows() -> None:
    """Our books."""
    budget = Budget.objects.get()
    told(
        {
            "external_id": Publication.objects.get().external_id,
            "budget": [budget.reserved_cents, budget.spent_cents],
            "ledger": ledger_sums(budget),
            "kept": reserved_cents(budget),
            "sessions": Counter(CrowdSession.objects.values_list("status", flat=True)),
            "integrity": check_integrity().problems,
        }
    )


def told(what: object) -> None:
    """One line."""
    sys.stdout.write(f"{json.dumps(what)}\n")
