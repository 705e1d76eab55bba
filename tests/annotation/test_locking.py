"""Locks and races of claims, submissions and changes of a running study."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.installations import Installation

SCENE = """
import json
from functools import partial
from annotation.models import Assignment, Exclusion, Worker
from annotation.work.claims import (claim_assignment)
from annotation.work.slots.release import expire_overdue
from annotation.quality.exclusions import exclude_worker, lift_exclusion, pause_worker, unpause_worker
from annotation.work.leases import (reserve_next, retake_assignment)
from annotation.work.submissions import submit_and_claim
from evaluation.data.integrity import check_integrity
from common.errors import QuorumError
from judgments.models import HIT, Study
from tests.annotation.voting import always_first, answers_of, joined
from tests.forking import all_at_once
from tests.studies import make_study
study = make_study(
    "triplet", units_per_hit=3, judgments_per_unit=5, controls={"per_hit": 0},
    stopping={"rule": "settled", "full_depth": 0.2}, sampling={"pairs": {"HC": 12, "HI": 12}, "references": 2},
)
people = [joined(study, f"w-{number}") for number in range(6)]

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

wrong = all_at_once(*(partial(patient, worker) for worker in people), judge, warden, clock)
print(json.dumps({"wrong": wrong, "broken": check_integrity().problems}))
"""

FIRST_ANSWERS = """
import json
from functools import partial
from annotation.errors import TooLate
from annotation.models import Assignment
from annotation.work.claims import (claim_assignment)
from annotation.work.submissions import save_answers
from tests.annotation.leasing import answers_of, slots_add_up, take
from tests.forking import all_at_once
from tests.studies import make_study, make_worker

study = make_study("pairwise", judgments_per_unit=1, units_per_hit=2, controls={"per_hit": 0})
silent = [take(study, make_worker(study, f"s-{n}")[0]) for n in range(study.hits.count())]
coming = [make_worker(study, f"c-{n}")[0] for n in range(len(silent))]
found = []

def answer(held):
    try:
        save_answers(assignment=held, answers=answers_of(held)[:1])
        found.append("kept")
    except TooLate:
        found.append("given away")

def come(worker):
    found.append("nothing left" if claim_assignment(study=study, worker=worker) is None else "let in")

wrong = all_at_once(*(partial(answer, one) for one in silent), *(partial(come, one) for one in coming))
kept = Assignment.objects.filter(worker__name__startswith="s-").exclude(answers={})
print(json.dumps({
    "wrong": wrong, "found": found, "places": len(silent), "add_up": slots_add_up(study),
    "kept": sorted(set(kept.values_list("state", flat=True))),
}))
"""

ORDER = """
import json, re
from contextlib import contextmanager
from django.db import connection
from annotation.models import Assignment
from annotation.work.claims import (claim_assignment)
from annotation.work.slots.release import expire_overdue
from annotation.quality.exclusions import exclude_worker, lift_exclusion, pause_worker
from annotation.work.leases import (retake_assignment)
from annotation.work.answers.revisions import revise_judgments
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
    assert there["wrong"] == []
    assert len(found) == 2 * there["places"]
    # a newcomer's place may go on to the next newcomer, who has not answered either
    assert found.count("kept") + min(found.count("let in"), found.count("given away")) == there["places"]
    assert set(there["kept"]) <= {"accepted"}
    assert there["add_up"]


# A claim is stopped in the middle of its transaction; the step of the researcher begins meanwhile. The step may come
# first or second, but it may not end while a claim that does not know of it is still under way.
MIDDLE = """
import json, threading
from annotation.models import Assignment
from annotation.work import claims
from annotation.work.slots import acceptance
from annotation.crowds.opening import close_study
from annotation.work.operations import expire_slots, extend_study
from annotation.work.leases import (reserve_next)
from annotation.work.operations import pause_study
from evaluation.data.integrity import check_integrity
from judgments.models import Study
from tests.annotation.voting import joined
from tests.forking import all_at_once
from tests.studies import make_study

STEPS = {
    "pause": lambda study: pause_study(study=study, why="a caption is broken"),
    "close": lambda study: close_study(study=study),
    "extend": lambda study: extend_study(study=study, workers=1, why="one vote more"),
    "expire": lambda study: expire_slots(study=study, hits=[hit.key for hit in study.hits.all()], why="enough"),
}
draw = acceptance.draw_layout

def race(name):
    study = make_study("pairwise", slug=name, name=name)
    ada, bela = joined(study, f"ada-{name}"), joined(study, f"bela-{name}")
    # something is fetched ahead as well, which pausing and closing give back
    acceptance.draw_layout = draw
    reserve_next(assignment=claims.claim_assignment(study=study, worker=bela).assignment)
    inside, over, seen = threading.Event(), threading.Event(), {}

    def slowly(**given):
        inside.set()
        over.wait(1)  # in vain, where the step waits for this claim
        return draw(**given)

    def claim():
        claims.claim_assignment(study=Study.objects.get(pk=study.pk), worker=ada)

    def step():
        assert inside.wait(60)
        STEPS[name](Study.objects.get(pk=study.pk))
        over.set()
        seen["when it was over"] = Assignment.objects.filter(study=study, worker=ada).count()

    acceptance.draw_layout = slowly
    wrong = all_at_once(claim, step)
    seen["in the end"] = Assignment.objects.filter(study=study, worker=ada).count()
    return seen | {"wrong": wrong}

found = {name: race(name) for name in STEPS}
print(json.dumps({"races": found, "broken": check_integrity().problems}))
"""


@pytest.mark.long
def test_a_step_and_a_claim_at_the_same_moment_follow_one_another(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    found = _found(installation_on(database).python(MIDDLE))
    assert found["broken"] == []
    assert {name: race["wrong"] for name, race in found["races"].items()} == {
        "pause": [], "close": [], "extend": [], "expire": [],
    }  # fmt: skip
    for name in ("pause", "close"):
        # whoever is told "paused" or "closed" finds all that was handed out before it
        assert found["races"][name]["when it was over"] == found["races"][name]["in the end"]


MANY = """
import json
from functools import partial
from annotation.models import Assignment
from annotation.work.claims import (claim_assignment)
from annotation.work.operations import extend_leases, extend_study, reopen_units
from annotation.work.leases import (reserve_next)
from annotation.work.operations import pause_study, resume_study
from annotation.work.submissions import submit_and_claim
from evaluation.data.integrity import check_integrity
from common.errors import QuorumError
from judgments.models import Study
from tests.annotation.voting import always_first, answers_of, joined
from tests.forking import all_at_once
from tests.studies import make_study
study = make_study(
    "triplet", units_per_hit=3, judgments_per_unit=4, controls={{"per_hit": 0}}, stopping={{"rule": {rule!r}}},
    sampling={{"pairs": {{"HC": 5, "HI": 5}}, "references": 2}},
)
people = [joined(study, f"w-{{number}}") for number in range(5)]
units = list(study.units.filter(control=False).order_by("pk").values_list("key", flat=True)[:3])
grown = []

def own():
    return Study.objects.get(pk=study.pk)

def work(worker):
    for _ in range(4):
        try:
            claim = claim_assignment(study=own(), worker=worker)
            while claim is not None:
                reserve_next(assignment=claim.assignment)
                answers = answers_of(claim.assignment, worker, always_first)
                _, claim = submit_and_claim(assignment=claim.assignment, answers=answers)
        except QuorumError:
            pass  # paused just now

def lead():
    for turn in range(4):
        pause_study(study=own(), why="a look")
        before = Assignment.objects.filter(study=study).count()
        for _ in range(3):
            grown.append(Assignment.objects.filter(study=study).count() - before)
        resume_study(study=own(), why="fine")

def extend():
    for turn in range(3):
        extend_study(study=own(), workers=1, why="one vote more")
        reopen_units(study=own(), units=units, votes=1, why="tied")

def lengthen():
    for turn in range(4):
        try:
            extend_leases(study=own(), minutes=1, why="slow")
        except QuorumError:
            pass  # nobody holds anything

wrong = all_at_once(*(partial(work, worker) for worker in people), lead, extend, lengthen)
# what the extensions added is there to be done
for worker in people:
    while (claim := claim_assignment(study=own(), worker=worker)) is not None:
        submit_and_claim(assignment=claim.assignment, answers=answers_of(claim.assignment, worker, always_first))
print(json.dumps({{
    "wrong": wrong, "grown": max(grown), "broken": check_integrity().problems,
    "extra": sorted(set(study.hits.values_list("extra", flat=True))),
    "events": study.events.filter(what__in=["extended", "units-reopened", "paused"]).count(),
}}))
"""


@pytest.mark.parametrize("rule", ["none", "settled"])
def test_a_study_that_is_paused_and_extended_while_people_work_keeps_its_books(
    installation_on: Callable[[str], Installation], database: str, rule: str
) -> None:
    found = _found(installation_on(database).python(MANY.format(rule=rule)))
    assert (found["wrong"], found["broken"]) == ([], [])
    assert found["grown"] == 0
    assert found["events"] == 3 + 3 + 4
    assert found["extra"] == [3, 6]  # by three extensions; HITs of a re-opened unit by three more


def _found(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found


PRESSED = """
import json
from functools import partial
from collections import Counter
from annotation.crowds.opening import begin_closing, begin_opening
from annotation.models import Assignment, Worker
from annotation.quality.exclusions import exclude_worker, lift_exclusion
from annotation.quality.reviews import approve_without_objection, reject_assignments
from annotation.work.operations import pause_study, resume_study
from annotation.work.submissions import submit_and_claim
from annotation.work.claims import (claim_assignment)
from judgments.models import Study, StudyEvent
from tests.annotation.voting import always_first, answers_of, joined
from tests.forking import all_at_once
from tests.studies import make_study
study = make_study("triplet", units_per_hit=3, judgments_per_unit=3, controls={"per_hit": 0})
worker = joined(study, "w")
claim = claim_assignment(study=study, worker=worker)
submit_and_claim(assignment=claim.assignment, answers=answers_of(claim.assignment, worker, always_first))
(page,) = Assignment.objects.filter(state="submitted").values_list("pk", flat=True)
acts = {
    "paused": partial(pause_study, why="A look."),
    "resumed": partial(resume_study, why="Another."),
    "excluded": lambda study: exclude_worker(study=study, worker=worker, why="A look."),
    "closed": begin_closing,
    "opened": begin_opening,
}
found = {}
for name, act in acts.items():
    before = set(StudyEvent.objects.values_list("pk", flat=True))
    # each has read the study before anybody presses
    wrong = all_at_once(*(partial(act, study=Study.objects.get()) for _ in range(5)))
    found[name] = wrong or dict(Counter(StudyEvent.objects.exclude(pk__in=before).values_list("what", flat=True)))
print(json.dumps(found))
"""


def test_a_button_pressed_five_times_at_once_is_pressed_once(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    found = json.loads(installation_on(database).python(PRESSED).splitlines()[-1])
    assert {name: sum(events.values()) for name, events in found.items()} == dict.fromkeys(found, 1), found


NAMESAKES = """
import json
from functools import partial
from annotation.errors import NameTaken
from annotation.work.joining import join_study
from judgments.models import Study
from tests.forking import all_at_once
from tests.studies import make_study

study, other = make_study(), make_study(name="Another study")
join_study(study=other, name="ada")
found = []

def come(name):
    try:
        found.append(join_study(study=Study.objects.get(pk=study.pk), name=name).worker.shown_name)
    except NameTaken:
        found.append("taken")

wrong = all_at_once(*(partial(come, name) for name in ("ada", "bela") * 5))
print(json.dumps(wrong or sorted(found)))
"""


def test_a_name_is_given_once_in_a_study_to_those_who_come_at_the_same_moment(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    found = json.loads(installation_on(database).python(NAMESAKES).splitlines()[-1])
    assert found == ["ada", "bela", *["taken"] * 8]
