"""Each invariant, broken by hand and found by ``check_integrity``."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from annotation.models import Assignment, Judgment
from config.features import all_features
from evaluation.data.integrity import CHECKS, check_integrity
from evaluation.results.aggregation import aggregate_study
from judgments.models import HIT, CandidatePair, Caption, HITUnit, Item, Study, Unit
from tests.evaluation.studies import StudyOf, make_dataset
from tests.studies import make_study

pytestmark = pytest.mark.django_db

REFERENCES = {"a.jpg": ["a dog runs", "a dog"], "b.jpg": ["a cat sleeps", "a cat"]}


@pytest.fixture(scope="module")
def study(module_db: None) -> StudyOf:
    """A sound study: two triplets of a pair and a control item, three seats, two taken."""
    made = StudyOf(make_dataset("toy", REFERENCES), "triplet", controls={"per_hit": 1})
    pair = made.pair("p1", "a.jpg", "a dog", "a cat")
    references = Caption.objects.filter(item=pair.item)
    units = [made.unit(f"u{place}", pair=pair, reference=row) for place, row in enumerate(references)]
    control = made.unit("c1", "b.jpg", first="a cat", second=pair.first, control=True, expected=1)
    hit = made.hit("h1", [*units, control])
    sides = ["first-left", "second-left", "first-left"]
    made.answer(hit, "alma", [1, 2, 1], presented=sides)
    made.answer(hit, "bela", [1, 1, 1], presented=sides)
    return made


def test_a_sound_study_passes(study: StudyOf, capsys: Any) -> None:
    call_command("check_integrity")
    declared = sum(len(feature.integrity_checks) for feature in all_features().values())
    assert declared > 0
    assert f"{len(CHECKS) + declared} checks, nothing broken." in capsys.readouterr().out


@pytest.mark.parametrize("protocol", ["triplet", "pairwise", "relevance", "graded"])
def test_what_the_generator_makes_passes(protocol: str) -> None:
    make_study(protocol)
    assert check_integrity().problems == []


def sql(statement: str, *values: Any) -> None:
    """Past the services and past what the models refuse."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def drop_judgment(study: StudyOf) -> None:
    sql("DELETE FROM annotation_judgment WHERE id = (SELECT MAX(id) FROM annotation_judgment)")


def foreign_unit(study: StudyOf) -> None:
    other = study.unit("u9", pair=CandidatePair.objects.get())
    study.hit("h2", [other])
    sql(
        "UPDATE annotation_judgment SET unit_id = %s WHERE id = (SELECT MIN(id) FROM annotation_judgment)",
        other.pk,
    )


def unknown_value(study: StudyOf) -> None:
    sql("UPDATE annotation_judgment SET value = 7 WHERE id = (SELECT MIN(id) FROM annotation_judgment)")


def no_side(study: StudyOf) -> None:
    sql("UPDATE annotation_judgment SET presented = '' WHERE id = (SELECT MIN(id) FROM annotation_judgment)")


def returned_work(study: StudyOf) -> None:
    Assignment.objects.filter(worker__name="bela").update(state="returned")
    HIT.objects.update(open_slots=2)


def again_in_another_hit(study: StudyOf) -> None:
    hit = study.hit("h2", [Unit.objects.get(key="u0")])
    study.answer(hit, "alma", [1], presented=["first-left"])


def stale_design(study: StudyOf) -> None:
    Study.objects.update(slug="renamed")


def broken_design(study: StudyOf) -> None:
    Study.objects.update(design={"name": 1})


def other_dataset(study: StudyOf) -> None:
    elsewhere = make_dataset("elsewhere", {"z.jpg": ["z"]})
    Unit.objects.filter(key="u0").update(item=elsewhere.items.get())


BROKEN: list[tuple[Callable[[StudyOf], object], str]] = [
    (lambda study: HIT.objects.update(open_slots=2), "HIT h1 asks for 3 workers and has 2 open slots"),
    (lambda study: HIT.objects.update(required=4, open_slots=2), "asks for 4 workers; the design says 3"),
    (lambda study: Assignment.objects.filter(slot=1).update(slot=5), "takes slot 5"),
    (drop_judgment, "has 2 judgments on 3 units"),
    (foreign_unit, "is on unit u9, which is not in its HIT"),
    (unknown_value, "has the value 7"),
    (no_side, "says no side; expected which side was left"),
    (returned_work, "which is returned"),
    (again_in_another_hit, "worker alma judged unit u0 2 times"),
    (lambda study: HITUnit.objects.filter(unit__key="u1").delete(), "unit u1 is in 0 HITs; expected 1"),
    (lambda study: study.hit("h2", [Unit.objects.get(key="u1")]), "unit u1 is in 2 HITs; expected 1"),
    (lambda study: Unit.objects.filter(control=True).update(withdrawn=True), "expected 0, it was withdrawn"),
    (lambda study: Unit.objects.filter(control=True).update(expected=None), "check question c1 has no right answer"),
    (lambda study: Unit.objects.filter(key="u0").update(expected=1), "u0 is no check question, but has a right answer"),
    (lambda study: study.pair("p2", "a.jpg", "one", "two"), "pair p2 has neither a unit nor a published winner"),
    (lambda study: CandidatePair.objects.update(references=["a.jpg#0", "gone"]), "1 references that are not there"),
    (lambda study: Study.objects.update(state="draft"), "a draft, but it has HITs"),
    (lambda study: StudyOf(study.dataset, "graded"), "past drafting, but it has no HIT"),
    (lambda study: Assignment.objects.update(simulated=True), "not marked as simulated"),
    (lambda study: Study.objects.update(simulated=True), "marked as simulated, but holds answers of people"),
    (stale_design, "its design is for toy-triplet, triplet, toy"),
    (broken_design, "its design cannot be read"),
    (other_dataset, "the image of unit u0 is another dataset's"),
    (lambda study: Item.objects.filter(name="a.jpg").update(picture="gone.jpg"), "picture file of a.jpg is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_damage_is_found_and_named(damage: Callable[[StudyOf], object], said: str, study: StudyOf) -> None:
    damage(study)
    problems = check_integrity().problems
    assert any(said in problem for problem in problems), problems


def test_the_command_prints_the_damage_and_fails(study: StudyOf, capsys: Any) -> None:
    drop_judgment(study)
    with pytest.raises(SystemExit) as stopped:
        call_command("check_integrity")
    assert stopped.value.code == 1
    assert "has 2 judgments on 3 units" in capsys.readouterr().out


def test_results_older_than_the_data_are_only_a_note(study: StudyOf, capsys: Any) -> None:
    aggregate_study(study=study.study)
    Assignment.objects.filter(worker__name="bela").update(submitted_at="2099-01-01T00:00:00Z")
    call_command("check_integrity")
    assert "Note: Study toy-triplet: 1 assignments were submitted after" in capsys.readouterr().out
    assert Judgment.objects.count() == 6
