"""Control items among workers: met once, counted, suspected, struck, used up; and people who are excluded."""

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotation.errors import WorkerExcluded
from annotation.models import (
    Assignment,
    Exclusion,
    Judgment,
    Participation,
    StudyAlarm,
    Worker,
    WrittenCaption,
)
from annotation.quality.control_figures import compute_control_figures
from annotation.quality.control_item_check import check_control_items
from annotation.quality.controls import (
    control_answers,
    control_record,
    control_records,
    control_tallies,
    records_from_tallies,
)
from annotation.quality.detectors.chances import binomial_at_most
from annotation.quality.exclusions import exclude_worker, lift_exclusion
from annotation.quality.reviews import approve_assignments, reject_assignments
from annotation.work.claims import claim_assignment
from annotation.work.sheet.units import cached_units_of, page_units_of
from annotation.work.slots.release import return_assignment
from annotation.work.submissions import save_answers, submit_assignment
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.integrity import check_integrity
from evaluation.data.judgment_sets.loaders import control_records_of
from evaluation.data.judgment_sets.study_signatures import hash_of_judgments
from evaluation.results.aggregation import aggregate_study
from judgments.design.reading.checking import make_design, stored_design
from judgments.design.tables.controls import (
    CAREFUL_ACCURACY,
    GUESSING_ACCURACY,
    MAX_WRONG_EXCLUSION,
    Controls,
    usual_least,
)
from judgments.drawing.controls.pool import recognition_key
from judgments.kinds import KINDS
from judgments.models import HIT, Caption, Item, Study, StudyRole
from judgments.studies.generation.hand_changes import withdraw_control
from tests.annotation import watched
from tests.annotation.leasing import claimed, slots_add_up
from tests.annotation.watched import answers_to, careful, left, make_watched, states
from tests.doors import signed_in
from tests.evaluation.studies import StudyOf
from tests.evaluation.studies import make_dataset as small_dataset
from tests.marks import long_except
from tests.studies import make_dataset, make_study, make_worker, with_worker

pytestmark = pytest.mark.django_db
RULE = Controls(threshold=0.7)
DOCS = Path("docs/controls.md").read_text(encoding="utf-8")


def small_pool(protocol: str = "relevance", **values: Any) -> Study:
    """Two control images, and more HITs than that."""
    make_dataset(images=8, references=4, systems=3)
    Item.objects.filter(position__gte=6).update(split="dev")
    Item.objects.filter(position__lt=6).update(split="test")
    return make_study(protocol, **values)


def work(study: Study, worker: Worker, value: Any = 1, *, pages: int = 1000) -> list[Assignment]:
    """Up to so many pages, all answered with ``value`` or with what it makes of a unit."""
    done: list[Assignment] = []
    while len(done) < pages and (claim := claim_assignment(study=study, worker=worker)) is not None:
        answers = [
            {"position": place.position, "value": value(place) if callable(value) else value}
            for place in claim.page_units
        ]
        submit_assignment(assignment=claim.assignment, answers=answers)
        done.append(claim.assignment)
    return done


def right(study: Study) -> Any:
    """Answers as expected; on judged units the first value."""
    kind = KINDS[study.protocol]

    def answer(place: Any) -> int:
        unit = place.unit
        good = [
            value
            for value in kind.values
            if unit.expected is not None and kind.is_right(value, unit.expected)
        ]
        return kind.sides.from_canonical(good[0] if good else kind.values[0], side=place.side)

    return answer


@pytest.mark.parametrize("protocol", ["relevance", "graded", "pairwise", "triplet"])
def test_no_control_item_is_shown_to_a_worker_in_two_hits(protocol: str) -> None:
    study, worker = with_worker(small_pool(protocol, controls={"per_hit": 1}))
    pages = work(study, worker)
    assert len(pages) == study.hits.count() > 2
    grouped = KINDS[protocol].grouped
    met: Counter[Any] = Counter()
    for page in pages:
        units = [place.unit for place in page_units_of(page) if place.unit.control]
        met.update(
            {recognition_key(unit.item_id, unit.first_id, unit.second_id, grouped=grouped) for unit in units}
        )
    assert set(met.values()) == {1}
    judged = study.units.filter(control=False).count()
    assert Judgment.objects.filter(unit__control=False).count() == judged, "nothing else is left out"


def test_pages_with_new_control_items_come_first_and_then_an_alarm_says_what_pages_lack() -> None:
    study = small_pool(controls={"per_hit": 1})
    assert study.notes["control_pool"] == {"items": 2, "lasts": 2, "comes_again": True}
    worker, _ = make_worker(study)
    pages = work(study, worker)
    with_control = [any(place.unit.control for place in page_units_of(page)) for page in pages]
    assert with_control == [True, True] + [False] * (len(pages) - 2)
    alarm = StudyAlarm.objects.get()
    assert (alarm.study, alarm.worker) == (study, worker)
    assert (alarm.pages, alarm.missing) == (len(pages) - 2, len(pages) - 2)
    other, _ = make_worker(study, "w-other")
    assert [
        bool(any(place.unit.control for place in page_units_of(page))) for page in work(study, other, pages=2)
    ] == [
        True,
        True,
    ]
    assert StudyAlarm.objects.count() == 1


def test_nobody_judges_an_own_caption_where_new_control_items_are_looked_for_further_on() -> None:
    make_dataset(images=40, references=4, systems=3)
    Item.objects.filter(position__gte=38).update(split="dev")
    Item.objects.filter(position__lt=38).update(split="test")
    study, worker = with_worker(make_study("graded", controls={"per_hit": 1}, units_per_hit=3))
    control = {
        hit: {unit.item_id for unit in cached_units_of(hit) if unit.control} for hit in study.hits.all()
    }
    met_first = control[study.hits.get(position=1)]
    own = {
        unit.first_id
        for hit, items in control.items()
        for unit in cached_units_of(hit)
        if items != met_first and not unit.control and unit.first_id
    }
    WrittenCaption.objects.bulk_create(WrittenCaption(worker=worker, caption_id=caption) for caption in own)
    pages = work(study, worker)
    assert pages
    judged = {
        place.unit.first_id for page in pages for place in page_units_of(page) if not place.unit.control
    }
    assert not judged & own


def test_a_page_that_was_given_back_has_its_control_items_still_when_it_is_taken_again() -> None:
    study, worker = with_worker(small_pool(controls={"per_hit": 1}))
    first = claimed(study, worker)
    return_assignment(assignment=first.assignment)
    work(study, worker)
    again = Assignment.objects.filter(hit=first.assignment.hit).exclude(pk=first.assignment.pk).get()
    seen = {place.unit.item_id for place in first.page_units if place.unit.control}
    elsewhere = {
        place.unit.item_id
        for page in Assignment.objects.filter(study=study).exclude(hit=again.hit)
        for place in page_units_of(page)
        if place.unit.control
    }
    assert not seen & elsewhere
    assert {place.unit.item_id for place in page_units_of(again) if place.unit.control} == seen


def test_where_no_item_comes_again_nothing_is_left_out() -> None:
    study, worker = with_worker(make_study("graded", controls={"per_hit": 1, "kinds": ["repeated"]}))
    pages = work(study, worker)
    assert sum(len(page_units_of(page)) for page in pages) == study.units.count()
    assert not StudyAlarm.objects.exists()


def test_a_repeated_unit_is_right_where_the_worker_says_the_same_twice() -> None:
    study, same = with_worker(make_study("pairwise", controls={"per_hit": 1, "kinds": ["repeated"]}), "same")
    work(study, same, lambda place: KINDS["pairwise"].sides.from_canonical(1, side=place.side))
    left, _ = make_worker(study, "left")
    work(study, left, 1)
    records = control_records_of(study)
    repeats = study.units.filter(control=True).count()
    assert (records[same.pk].answers, records[same.pk].right_answers) == (repeats, repeats)
    assert records[left.pk].right_answers < repeats, (
        "sides are drawn anew, so the left one is not the same one"
    )
    assert records[same.pk].by_kind == {"repeated": (repeats, repeats)}


def test_a_grade_next_to_the_first_one_is_the_same_answer() -> None:
    study = make_study("graded", controls={"per_hit": 1, "kinds": ["repeated"]}, seed=5)
    close, _ = make_worker(study, "close")
    work(study, close, lambda place: 3 if place.unit.control else 2)
    far, _ = make_worker(study, "far")
    work(study, far, lambda place: 4 if place.unit.control else 2)
    records = control_records_of(study)
    assert records[close.pk].share == 1
    assert records[far.pk].share == 0


def test_workers_are_told_apart_by_kind_of_control_item() -> None:
    study = make_study("graded", controls={"per_hit": 2, "kinds": ["reference", "repeated"]}, units_per_hit=5)
    worker, _ = make_worker(study)
    work(study, worker, 4)
    (row,) = aggregate_study(study=study)["workers"]
    by_kind = row["controls_by_kind"]
    assert set(by_kind) == {"reference", "repeated"}
    assert by_kind["repeated"]["right"] == by_kind["repeated"]["seen"] > 0
    good = sum(
        answer.expected == "3-4" for answer in control_answers(study) if answer.control_kind == "reference"
    )
    assert by_kind["reference"]["right"] == good
    assert row["controls_seen"] == sum(one["seen"] for one in by_kind.values())


def test_damaged_captions_become_candidates_of_no_system_and_are_shown_like_any_other() -> None:
    before = set(make_dataset().captions.values_list("key", flat=True))
    study = make_study("pairwise", controls={"per_hit": 1, "kinds": ["degraded"]})
    made = Caption.objects.filter(dataset=study.dataset).exclude(key__in=before)
    assert made.exists()
    assert set(made.values_list("role", flat=True)) == {"candidate"}
    assert not made.filter(outputs__isnull=False).exists()
    worker, _ = make_worker(study)
    assert len(work(study, worker, right(study))) == study.hits.count()
    assert control_records_of(study)[worker.pk].share == 1
    # The same texts once more.
    make_study("pairwise", controls={"per_hit": 1, "kinds": ["degraded"]}, slug="again")


def test_a_wrong_control_item_is_suspected_and_counts_for_nobody_once_struck() -> None:
    study = make_study("graded", controls={"per_hit": 2}, units_per_hit=5)
    wrong = study.units.filter(control=True).order_by("position")[0]
    alike = set(
        study.units.filter(control=True, item=wrong.item, first=wrong.first).values_list("pk", flat=True)
    )
    right_answer = right(study)
    for number in range(3):
        worker, _ = make_worker(study, f"w{number}")
        work(
            study,
            worker,
            lambda place: 5 - right_answer(place) if place.unit.pk in alike else right_answer(place),
        )
    (suspect,) = compute_control_figures(study).suspects
    assert {unit.pk for unit in suspect.units} == alike
    assert (suspect.test.right_answers, suspect.test.accuracy_elsewhere) == (0, 1)
    before, answers = hash_of_judgments(study), Judgment.objects.count()
    seen = control_records_of(study)[worker.pk].answers
    for unit in suspect.units:
        withdraw_control(study=study, unit_key=unit.key)
    assert not compute_control_figures(study).suspects
    record = control_records_of(study)[worker.pk]
    assert (record.answers, record.share) == (seen - 1, 1)
    assert Judgment.objects.count() == answers
    assert hash_of_judgments(study) != before, "figures made before are out of date"
    late, _ = make_worker(study, "late")
    assert not alike & {place.unit.pk for page in work(study, late) for place in page_units_of(page)}


@pytest.mark.parametrize(
    "protocol", long_except(["triplet", "pairwise", "relevance", "graded"], "pairwise", "relevance")
)
def test_a_rehearsal_answers_all_four_kinds_and_careful_workers_pass_them(protocol: str) -> None:
    known: dict[str, Any] = {"image": "009.jpg", "first": "A hen .", "expected": 1}
    known |= {"graded": {"expected": "3-4"}, "relevance": {}}.get(
        protocol, {"reference": "A hen is here .", "second": "A bus ."}
    )
    study = make_study(
        protocol,
        controls={
            "per_hit": 2,
            "kinds": ["degraded", "repeated", "known-good", "reference"],
            "known": [known],
        },
        units_per_hit=6,
        images_per_hit=5,
        opened=True,
    )
    report = rehearse(
        study=study, crowd=RehearsalCrowd(workers=8, spammers=0.25, accuracy=0.9, drop_outs=0, seed=2)
    )
    assert {answer.control_kind for answer in control_answers(study)} == set(
        study.units.filter(control=True).values_list("control_kind", flat=True)
    )
    assert report.controls_careful is not None
    assert report.controls_spammers is not None
    assert report.controls_careful > report.controls_spammers + 0.1


def test_the_designer_sees_the_alarm_the_suspects_and_how_each_item_fared() -> None:
    study = small_pool(controls={"per_hit": 1})
    first = study.units.filter(control=True).order_by("position")[0]
    worker, _ = make_worker(study)
    work(study, worker, right(study))
    designer = signed_in(User.objects.create_superuser("designer"))
    address = reverse("admin:judgments_study_controls", args=[study.pk])
    shown = " ".join(designer.get(address).content.decode().split())
    assert "<b>1 participant</b> has answered every available check question" in shown
    assert "limit each participant to 2 pages of work" in shown
    assert first.first is not None
    assert first.first.text in shown
    assert "1 of 1 right" in shown
    for page in ("results", "hits"):
        other = designer.get(reverse(f"admin:judgments_study_{page}", args=[study.pk])).content.decode()
        assert "all check questions used" in other
    assert "has seen all check questions" in designer.get(reverse("admin:index")).content.decode()
    assert Client().get(address).status_code == 302


@pytest.mark.parametrize(
    ("imported", "role", "offered"),
    [
        (False, StudyRole.Role.DESIGNER, True),
        (False, StudyRole.Role.REVIEWER, False),
        (True, StudyRole.Role.DESIGNER, False),
        (True, StudyRole.Role.REVIEWER, False),
    ],
)
def test_striking_is_offered_to_designers_of_studies_with_hits_of_their_own(
    imported: bool, role: str, offered: bool
) -> None:
    made = StudyOf(small_dataset("pets", {"a.jpg": ["A dog runs ."]}), "graded", imported=imported)
    control = made.unit("c1", "a.jpg", first="A dog", control=True, control_kind="reference", expected="3-4")
    made.answer(made.hit("h1", [control]), "w-1", [4])
    person = User.objects.create_user("person", is_staff=True)
    StudyRole.objects.create(study=made.study, user=person, role=role)
    browser = signed_in(person)
    page = browser.get(reverse("admin:judgments_study_controls", args=[made.study.pk]))
    strike = reverse("admin:judgments_study_do", args=[made.study.pk, "strike"])
    assert [entry["unit"].key for group in page.context["groups"] for entry in group.items] == ["c1"]
    assert page.context["may_withdraw"] is offered
    assert (strike in page.content.decode()) is offered
    browser.post(strike, {"units": "c1", "page": "controls"})
    control.refresh_from_db()
    assert control.withdrawn is offered


def test_control_items_of_best_worst_lists_are_told_and_shown() -> None:
    make_dataset(systems=4)
    study = make_study(
        "best-worst",
        controls={"per_hit": 3, "kinds": ["reference", "degraded", "repeated"]},
        sampling={"options": 3},
        units_per_hit=6,
    )
    rehearse(study=study, crowd=RehearsalCrowd(workers=5, spammers=0.2, drop_outs=0, seed=1))
    assert {answer.control_kind for answer in control_answers(study)} == {"reference", "degraded", "repeated"}
    designer = signed_in(User.objects.create_superuser("designer"))
    shown = designer.get(reverse("admin:judgments_study_controls", args=[study.pk])).content.decode()
    unit = study.units.filter(control_kind="degraded")[0]
    assert all(option["text"] in shown for option in unit.content["options"])
    assert "right answer: best: " in shown or "right answer: worst: " in shown


@pytest.mark.parametrize(("right", "seen"), [(7, 10), (14, 20), (21, 30), (70, 100), (693, 990)])
def test_a_worker_with_exactly_seventy_per_cent_right_is_used(right: int, seen: int) -> None:
    assert control_record(seen, right, RULE).is_used
    assert not control_record(seen, right - 1, RULE).is_used


def test_a_worker_who_saw_no_control_item_is_used() -> None:
    record = control_record(0, 0, RULE)
    assert record.is_used
    assert record.share is None


def test_nobody_is_set_aside_before_the_least_number_of_check_questions() -> None:
    rule = Controls(threshold=0.7, least=7)
    assert control_record(6, 0, rule).is_used
    assert not control_record(7, 4, rule).is_used
    # 7 choose 5 to 7 right: scipy.stats.binom.cdf(4, 7, (.95, .5)) is .00376 and .77344
    assert rule.exclusion_probability(7, 0.95) == pytest.approx(0.003757, abs=1e-6)
    assert rule.exclusion_probability(7, 0.5) == pytest.approx(0.7734375)
    assert [usual_least(threshold) for threshold in (0.0, 0.6, 0.7, 0.8, 1.0)] == [1, 5, 7, 20, 1]
    assert RULE.exclusion_probability(6, CAREFUL_ACCURACY) > MAX_WRONG_EXCLUSION
    table = re.findall(
        r"^\| ([.\d]+) \| (\d+)(?: \(after 2 items\))? \| (\d+) of 100 \| (\d+)", DOCS, flags=re.M
    )
    assert len(table) == 4
    for threshold, least, *rates in table:
        rule = Controls(threshold=float(threshold), least=int(least))
        set_aside = [
            round(100 * rule.exclusion_probability(max(2, rule.least), right))
            for right in (CAREFUL_ACCURACY, GUESSING_ACCURACY)
        ]
        assert set_aside == [int(rate) for rate in rates]


@pytest.mark.parametrize(
    ("values", "least"),
    [
        ({"protocol": "triplet"}, 7),
        ({"protocol": "triplet", "controls": {"threshold": 0.6}}, 5),
        ({"preset": "our-slider", "protocol": "slider"}, 7),
        ({"preset": "hodosh-2013-relevance", "protocol": "relevance"}, 1),  # H13: 70 % from the first on
    ],
)
def test_new_rules_wait_and_published_and_older_ones_stay(values: dict[str, Any], least: int) -> None:
    design = make_design({"name": "A", "dataset": "animals", **values})
    assert design.controls.least == least
    stored = design.model_dump(mode="json")
    assert make_design(stored) == stored_design(stored) == design
    stored["controls"].pop("least", None)  # a study of an earlier version
    assert make_design(stored).controls.least == stored_design(stored).controls.least == 1


def test_each_worker_is_measured_on_the_items_they_saw_by_the_rule_of_the_kind() -> None:
    answers = [(1, 1, 1, ""), (1, 0, 1, ""), (2, 1, 1, ""), (2, 0, 0, ""), (2, 1, 0, "")]
    records = control_records(answers, rule=Controls(threshold=0.6), kind=KINDS["relevance"])
    assert (records[1].right_answers, records[1].answers, records[1].is_used) == (1, 2, False)
    assert (records[2].right_answers, records[2].answers, records[2].is_used) == (2, 3, True)
    grades = [(1, 4, "3-4", ""), (1, 3, "3-4", ""), (1, 2, "3-4", ""), (1, 1, "1-2", "")]
    record = control_records(grades, rule=RULE, kind=KINDS["graded"])[1]
    assert (record.right_answers, record.answers) == (3, 4)


@pytest.mark.parametrize("kinds", [["known-good"], ["degraded"], ["repeated"], ["degraded", "repeated"]])
def test_tallies_give_the_records_that_single_answers_give(kinds: list[str]) -> None:
    study = make_study() if kinds == ["known-good"] else make_study(controls={"per_hit": 2, "kinds": kinds})
    for number in range(3):
        worker, _ = make_worker(study, f"w-{number}")
        claim = claimed(study, worker)
        assert claim.assignment.hit is not None
        count = claim.assignment.hit.places.count()
        answers = [{"position": at, "value": 1 + (at * (number + 1)) % 2} for at in range(1, count + 1)]
        submit_assignment(assignment=claim.assignment, answers=answers)
    kind = KINDS[study.protocol]
    single = control_records(control_answers(study), rule=Controls(threshold=0.6), kind=kind)
    assert single
    assert records_from_tallies(control_tallies(study), rule=Controls(threshold=0.6), kind=kind) == single
    chosen = sorted(single)[:1]
    some = records_from_tallies(
        control_tallies(study, workers=chosen), rule=Controls(threshold=0.6), kind=kind
    )
    assert some == {worker: single[worker] for worker in chosen}


def answers(rights: dict[str, list[bool]]) -> list[tuple[str, str, bool]]:
    """Items -> whether worker 1, 2, ... was right."""
    return [(item, f"w{number}", right) for item, row in rights.items() for number, right in enumerate(row)]


GOOD = {f"item-{n}": [True] * 5 for n in range(6)}


def test_an_item_that_nobody_gets_right_who_is_right_on_all_others_is_suspected() -> None:
    found = check_control_items(answers(GOOD | {"wrong": [False] * 5}), threshold=0.7)
    one = found["wrong"]
    assert (one.answers, one.right_answers, one.careful_answers, one.careful_right_answers) == (5, 0, 5, 0)
    assert one.accuracy_elsewhere == 1
    # 30 of 30 right elsewhere counts as 31 of 32; seven items are tested
    assert one.p == pytest.approx(7 * (1 / 32) ** 5)
    assert one.is_suspect
    assert not any(found[item].is_suspect for item in GOOD)


def test_what_the_careless_miss_a_hard_item_and_too_few_witnesses_are_no_suspicion() -> None:
    rights = {item: [True] * 4 + [False] * 4 for item in GOOD} | {"missed": [True] * 4 + [False] * 4}
    one = check_control_items(answers(rights), threshold=0.7)["missed"]
    assert (one.answers, one.right_answers, one.careful_answers, one.careful_right_answers) == (8, 4, 4, 4)
    assert not one.is_suspect
    rights = {f"item-{n}": [True] * 40 for n in range(6)} | {"hard": [True] * 24 + [False] * 16}
    one = check_control_items(answers(rights), threshold=0.7)["hard"]
    assert one.p < 0.001
    assert not one.is_suspect
    rights = {item: row[:2] for item, row in GOOD.items()} | {"missed": [False] * 2}
    one = check_control_items(answers(rights), threshold=0.7)["missed"]
    assert one.p == 1
    assert not one.is_suspect
    one = check_control_items(answers({"alone": [False] * 9}), threshold=0.7)["alone"]
    assert (one.answers, one.careful_answers) == (9, 0)
    assert math.isnan(one.accuracy_elsewhere)
    assert not one.is_suspect


def test_thousands_of_answers_on_an_item_are_no_trouble() -> None:
    assert binomial_at_most(5_000, 10_000, 0.5) == pytest.approx(
        0.50399, abs=1e-5
    )  # 1/2 + half the middle term


def test_a_sound_pool_is_hardly_ever_suspected() -> None:
    """200 studies of 40 sound items, five workers an item, right 9 times in 10: at most one in twenty says anything."""
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(200):
        rows = [
            (item, int(worker), bool(rng.random() < 0.9))
            for item in range(40)
            for worker in rng.permutation(20)[:5]
        ]
        alarms += any(one.is_suspect for one in check_control_items(rows, threshold=0.7).values())
    assert alarms <= 10


@pytest.fixture
def study() -> Study:
    return make_watched()


@pytest.fixture
def designer() -> User:
    return User.objects.create_user("designer", is_staff=True)


def hit_of(assignment: Assignment) -> HIT:
    return HIT.objects.get(assignments=assignment)


def slots(study: Study) -> dict[str, int]:
    return dict(HIT.objects.filter(study=study).values_list("key", "open_slots"))


def test_exactly_the_slots_of_the_worker_open_again_and_every_answer_stays(study: Study) -> None:
    watched.work(study, "ada", careful, pages=2)
    before = slots(study)
    spam = watched.work(study, "spam", left, pages=3)
    held = claimed(study, spam[0].worker)
    judgments = list(Judgment.objects.values_list("pk", "value"))
    exclusion = exclude_worker(study=study, worker=spam[0].worker, why="Always the left.", rule="side-bias")
    assert slots(study) == before
    assert states([*spam, held.assignment]) == ["invalidated"] * 4
    assert list(Judgment.objects.values_list("pk", "value")) == judgments
    assert not Judgment.objects.current().filter(assignment__worker__name="spam").exists()
    assert set(exclusion.assignments.all()) == {*spam, held.assignment}
    assert check_integrity().problems == []


def test_consensus_goes_on_without_the_excluded() -> None:
    study = make_watched(controls={"per_hit": 1, "threshold": 0.0})
    for name in ("ada", "bob"):
        watched.work(study, name, careful, pages=9)
    spam = watched.work(study, "spam", left, pages=9)
    with_spam = aggregate_study(study=study)
    exclude_worker(study=study, worker=spam[0].worker, why="Always the left.")
    without = aggregate_study(study=study)
    assert {unit["n"] for unit in with_spam["units"]} == {3}
    assert {unit["n"] for unit in without["units"]} == {2}
    assert all(unit["value"] == 1 for unit in without["units"])
    assert [row["worker"] for row in without["workers"]] == ["ada", "bob"]


def test_others_fill_the_places_and_the_excluded_gets_no_work(study: Study) -> None:
    spam = watched.work(study, "spam", left, pages=9)[0].worker
    for name in ("ada", "bob"):
        watched.work(study, name, careful, pages=9)
    assert watched.work(study, "cyd", careful, pages=9) == []
    exclude_worker(study=study, worker=spam, why="Always the left.")
    with pytest.raises(WorkerExcluded):
        claim_assignment(study=study, worker=spam)
    assert len(watched.work(study, Worker.objects.get(name="cyd"), careful, pages=9)) == study.hits.count()
    assert not study.hits.exclude(open_slots=0).exists()


def test_a_page_in_hand_is_refused_with_what_happens_to_the_answers(study: Study) -> None:
    worker, _ = make_worker(study, "spam")
    claim = claimed(study, worker)
    answers = answers_to(claim.assignment, left)
    save_answers(assignment=claim.assignment, answers=answers[:4])
    exclude_worker(study=study, worker=worker, why="Seen before.")
    with pytest.raises(WorkerExcluded):
        submit_assignment(assignment=claim.assignment, answers=answers)
    claim.assignment.refresh_from_db()
    assert len(claim.assignment.answers) == 4


def test_a_page_taken_at_the_moment_of_the_exclusion_brings_no_answers(study: Study) -> None:
    """What a claim that was under way left behind: the exclusion could not see it."""
    worker, _ = make_worker(study, "spam")
    exclude_worker(study=study, worker=worker, why="Seen before.")
    Participation.objects.filter(worker=worker).update(standing="active")
    claim = claimed(study, worker)
    Participation.objects.filter(worker=worker).update(standing="excluded")
    with pytest.raises(WorkerExcluded):
        submit_assignment(assignment=claim.assignment, answers=answers_to(claim.assignment, left))
    assert not Judgment.objects.exists()


def test_a_submission_whose_reply_was_lost_may_be_repeated(study: Study) -> None:
    worker, _ = make_worker(study, "spam")
    claim = claimed(study, worker)
    answers = answers_to(claim.assignment, left)
    submit_assignment(assignment=claim.assignment, answers=answers)
    exclude_worker(study=study, worker=worker, why="Always the left.")
    assert submit_assignment(assignment=claim.assignment, answers=answers).is_repeat
    assert Judgment.objects.count() == len(answers)


def test_excluding_twice_and_lifting_twice_change_nothing(study: Study, designer: User) -> None:
    worker = watched.work(study, "spam", left, pages=2)[0].worker
    first = exclude_worker(study=study, worker=worker, why="Always the left.", by=designer)
    after = slots(study)
    assert exclude_worker(study=study, worker=worker, why="Again.") == first
    assert slots(study) == after
    lifted = lift_exclusion(exclusion=first, why="A mistake.", by=designer)
    restored = slots(study)
    assert lift_exclusion(exclusion=first, why="Twice.").lifted_why == "A mistake."
    assert slots(study) == restored
    assert (lifted.made_by, lifted.lifted_by) == (designer, designer)


def test_lifting_gives_everything_back_as_it_was(study: Study) -> None:
    pages = watched.work(study, "ada", left, pages=3)
    approve_assignments(study=study, assignments=[pages[0].pk])
    reject_assignments(study=study, assignments=[pages[1].pk], reason="Empty.")
    begun = claimed(study, pages[0].worker)
    before = states(pages)
    exclusion = exclude_worker(study=study, worker=pages[0].worker, why="Always the left.")
    open_again = slots(study)
    lift_exclusion(exclusion=exclusion, why="She explained it.")
    assert states(pages) == before == ["approved", "rejected", "submitted"]
    assert states([begun.assignment]) == ["returned"]
    assert sum(open_again.values()) - sum(slots(study).values()) == len(pages)
    assert Judgment.objects.current().count() == sum(one.judgments.count() for one in pages)
    assert claim_assignment(study=study, worker=pages[0].worker) is not None
    assert slots_add_up(study)
    assert check_integrity().problems == []


def test_where_a_place_was_filled_meanwhile_the_hit_grows_by_one(study: Study) -> None:
    spam = watched.work(study, "spam", careful, pages=9)
    for name in ("ada", "bob"):
        watched.work(study, name, careful, pages=9)
    exclusion = exclude_worker(study=study, worker=spam[0].worker, why="A suspicion.")
    filled = {hit_of(one).pk for one in watched.work(study, "cyd", careful, pages=2)}
    lift_exclusion(exclusion=exclusion, why="Unfounded.")
    grown = set(study.hits.filter(required=4).values_list("pk", flat=True))
    assert grown == filled
    assert (
        study.hits.exclude(pk__in=filled).filter(required=3, open_slots=0).count() == study.hits.count() - 2
    )
    assert slots_add_up(study)
    assert check_integrity().problems == []
    again = exclude_worker(study=study, worker=spam[0].worker, why="After all.")
    assert slots_add_up(study)
    assert again != exclusion
    assert check_integrity().problems == []


def test_a_slot_that_was_spared_meanwhile_takes_the_work_back(study: Study) -> None:
    page = watched.work(study, "ada", careful)[0]
    exclusion = exclude_worker(study=study, worker=page.worker, why="A suspicion.")
    HIT.objects.filter(pk=hit_of(page).pk).update(open_slots=0, spared=3)
    lift_exclusion(exclusion=exclusion, why="Unfounded.")
    hit = hit_of(page)
    assert (hit.required, hit.open_slots, hit.spared) == (3, 0, 2)
    assert slots_add_up(study)


def test_other_studies_of_the_worker_are_left_alone(study: Study) -> None:
    other = make_watched("Another")
    here = watched.work(study, "ada", left)[0]
    Participation.objects.create(study=other, worker=here.worker, completion_code="ANOTHER")
    there = watched.work(other, here.worker, left)
    exclude_worker(study=study, worker=here.worker, why="Always the left.")
    assert states(there) == ["submitted"]
    assert claim_assignment(study=other, worker=here.worker) is not None


def test_the_database_lets_nobody_be_excluded_twice_or_invalidated_without_a_name(study: Study) -> None:
    page = watched.work(study, "ada", left)[0]
    exclude_worker(study=study, worker=page.worker, why="Always the left.")
    with pytest.raises(IntegrityError), transaction.atomic():
        Exclusion.objects.create(study=study, worker=page.worker, why="Again.")
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.filter(pk=page.pk).update(exclusion=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.filter(pk=page.pk).update(state="submitted")
