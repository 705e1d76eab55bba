"""Work, exclusions, pauses and second chances at the same moment: nobody waits in a circle, and no slot is lost."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.installations import Installation

SCENE = """
import json, threading, traceback
from django.db import connection
from annotation.models import Assignment, Exclusion, Worker
from annotation.work.claims import claim_assignment, expire_overdue
from annotation.quality.flags import exclude_worker, lift_exclusion, pause_worker, unpause_worker
from annotation.work.leases import reserve_next, retake_assignment
from annotation.work.submissions import submit_and_claim
from evaluation.integrity import check_integrity
from common.errors import QuorumError
from judgments.models import HIT, Study
from tests.annotation.voting import always_first, answers_of, joined
from tests.studies import make_study

study = make_study(
    "triplet", units_per_hit=3, judgments_per_unit=5, controls={"per_hit": 0},
    stopping={"rule": "settled", "full_depth": 0.2}, sampling={"pairs": {"HC": 12, "HI": 12}, "references": 2},
)
people = [joined(study, f"w-{number}") for number in range(6)]
wrong, start = [], threading.Barrier(len(people) + 3)

def work(worker):
    claim = claim_assignment(study=study, worker=worker)
    while claim is not None:
        reserve_next(assignment=claim.assignment)
        answers = answers_of(claim.assignment, worker, always_first)
        _, claim = submit_and_claim(assignment=claim.assignment, answers=answers)

def patient(worker):
    for _ in range(12):
        try:
            work(worker)
        except QuorumError:
            pass

def judge():
    for turn in range(12):
        made = exclude_worker(study=study, worker=people[turn % 3], why="A look.")
        lift_exclusion(exclusion=made, why="Another look.")

def warden():
    for turn in range(12):
        pause_worker(study=study, worker=people[3 + turn % 3])
        unpause_worker(study=study, worker=people[3 + turn % 3])

def clock():
    for _ in range(12):
        held = list(Assignment.objects.filter(study=study, state="accepted")[:3])
        Assignment.objects.filter(pk__in=[one.pk for one in held], state="accepted").update(
            expires_at="2026-01-01T00:00Z")
        expire_overdue(study=study)
        for one in held:
            try:
                retake_assignment(assignment=Assignment.objects.select_related("study").get(pk=one.pk))
            except QuorumError:
                pass

def guarded(act, *given):
    try:
        start.wait()
        act(*given)
    except BaseException:
        wrong.append(traceback.format_exc()[-600:])
    finally:
        connection.close()

threads = [threading.Thread(target=guarded, args=(patient, worker)) for worker in people]
threads += [threading.Thread(target=guarded, args=(act,)) for act in (judge, warden, clock)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps({"wrong": wrong, "broken": check_integrity().problems}))
"""

FIRST_ANSWERS = """
import json, threading
from django.db import connection
from annotation.errors import TooLate
from annotation.models import Assignment
from annotation.work.claims import claim_assignment
from annotation.work.submissions import save_answers
from tests.annotation.leasing import answers_of, slots_add_up, take
from tests.studies import make_study, make_worker

study = make_study("pairwise", judgments_per_unit=1, units_per_hit=2, controls={"per_hit": 0})
silent = [take(study, make_worker(study, f"s-{n}")[0]) for n in range(study.hits.count())]
coming = [make_worker(study, f"c-{n}")[0] for n in range(len(silent))]
start, found = threading.Barrier(2 * len(silent)), []

def answer(held):
    start.wait()
    try:
        save_answers(assignment=held, answers=answers_of(held)[:1])
        found.append("kept")
    except TooLate:
        found.append("given away")
    connection.close()

def come(worker):
    start.wait()
    found.append("nothing left" if claim_assignment(study=study, worker=worker) is None else "let in")
    connection.close()

threads = [threading.Thread(target=answer, args=(one,)) for one in silent]
threads += [threading.Thread(target=come, args=(one,)) for one in coming]
for thread in threads: thread.start()
for thread in threads: thread.join()
kept = Assignment.objects.filter(worker__name__startswith="s-").exclude(answers={})
print(json.dumps({
    "found": found, "places": len(silent), "add_up": slots_add_up(study),
    "kept": sorted(set(kept.values_list("state", flat=True))),
}))
"""

ORDER = """
import json, re
from contextlib import contextmanager
from django.db import connection
from annotation.models import Assignment
from annotation.work.claims import claim_assignment, expire_overdue
from annotation.quality.flags import exclude_worker, lift_exclusion, pause_worker
from annotation.work.leases import retake_assignment
from annotation.work.submissions import revise_judgments
from annotation.work.submissions import submit_assignment
from judgments.models import Study
from tests.annotation.voting import always_first, answers_of, joined, work
from tests.studies import make_study

study = make_study(
    "triplet", units_per_hit=3, judgments_per_unit=3, controls={"per_hit": 0}, stopping={"rule": "settled"},
    sampling={"pairs": {"HC": 4, "HI": 4}, "references": 2},
)
ada, bela = joined(study, "ada"), joined(study, "bela")
LOCKS = re.compile(r'(?s)^UPDATE "(\\w+)"|^SELECT .* FROM "(\\w+)".* FOR (?:NO KEY )?UPDATE')
found = {}

@contextmanager
def noted(name):
    tables = found.setdefault(name, [])
    def note(execute, sql, params, many, context):
        locks = LOCKS.match(sql)
        if locks:
            tables.append(locks[1] or locks[2])
        return execute(sql, params, many, context)
    with connection.execute_wrapper(note):
        yield

work(study, bela, always_first, most=2)
held = claim_assignment(study=study, worker=ada).assignment
Assignment.objects.filter(pk=held.pk).update(expires_at="2026-01-01T00:00Z")
with noted("expire"): expire_overdue(study=study)
with noted("retake"): again = retake_assignment(assignment=Assignment.objects.get(pk=held.pk))
with noted("submit"): submit_assignment(assignment=again, answers=answers_of(again, ada, always_first))
changed = [{"position": position, "value": 1} for position in (1, 2, 3)]
with noted("revise"): revise_judgments(assignment=again, answers=changed)
with noted("exclude"): out = exclude_worker(study=study, worker=bela, why="A look.")
with noted("lift"): lift_exclusion(exclusion=out, why="Another look.")
claim_assignment(study=study, worker=bela)
with noted("pause"): pause_worker(study=study, worker=bela)
print(json.dumps(found))
"""
RANKS = ("annotation_assignment", "judgments_candidatepair", "judgments_hit", "annotation_participation")


def test_rows_are_locked_in_one_order_by_everybody(
    installation_on: Callable[[str], Installation], postgres_url: str
) -> None:
    """SQLite has no such locks: it lets one write at a time."""
    found = json.loads(installation_on("postgresql").python(ORDER).splitlines()[-1])
    for name, tables in found.items():
        first = [table for table in dict.fromkeys(tables) if table in RANKS]
        assert first == sorted(first, key=RANKS.index), name
        assert "judgments_hit" in first, name


def test_work_exclusions_pauses_and_second_chances_do_not_hinder_each_other(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    found = json.loads(installation_on(database).python(SCENE).splitlines()[-1])
    assert found["wrong"] == []
    assert found["broken"] == []


def test_a_place_is_kept_by_the_first_answer_or_given_away_and_never_both(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    there = json.loads(installation_on(database).python(FIRST_ANSWERS).splitlines()[-1])
    found = there["found"]
    assert len(found) == 2 * there["places"]
    # a newcomer's place may go on to the next newcomer, who has not answered either
    assert found.count("kept") + min(found.count("let in"), found.count("given away")) == there["places"]
    assert set(there["kept"]) <= {"accepted"}
    assert there["add_up"]
