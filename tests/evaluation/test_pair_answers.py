"""No difference, neither, strength and confidence: from the design over the page to consensus and agreement."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Assignment, Judgment
from common.errors import DesignError
from contrib.judgment_imports.importing import import_judgments
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.judgment_sets.files import read_judgment_table
from evaluation.data.judgment_sets.loaders import load_judgments
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.models import Analysis
from evaluation.results.aggregation import compute_aggregation, run_aggregation
from evaluation.results.metrics.storage import evaluate_study
from judgments.design.reading.checking import make_design
from judgments.importers.problems import ImportProblem
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from tests.annotation.casting import joined
from tests.annotation.posting import positions_on, submit, work_of
from tests.refusals import refuses
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db

ALL = {"no_difference": True, "neither": True, "strength": True, "confidence": True}
SCALE = ["A, by far", "A, slightly", "No difference", "Neither of the two", "B, slightly", "B, by far"]


def kind_with(protocol: str = "pairwise", **answers: bool) -> Any:
    design = make_design({"name": "x", "dataset": "x", "protocol": protocol, "answers": answers})
    return KINDS[protocol].for_design(design)


def test_a_design_without_more_answers_is_as_in_the_papers() -> None:
    design = make_design({"name": "x", "dataset": "x", "protocol": "triplet"})
    assert "answers" not in design.model_dump()
    assert (KINDS["triplet"].for_design(design).values, KINDS["triplet"].setting(design)) == ((1, 2), "")
    with refuses(DesignError, field="answers"):
        make_design({"name": "x", "dataset": "x", "protocol": "graded", "answers": {"strength": True}})


def test_each_answer_has_a_word_a_key_and_a_number() -> None:
    ties = kind_with("triplet", no_difference=True)
    assert [(one.value, one.text, one.key) for one in ties.choices] == [
        (1, "Sentence B", "1"),
        (0, "No difference", "0"),
        (2, "Sentence C", "2"),
    ]
    every = kind_with("pairwise", **ALL)
    assert [one.text for one in every.choices] == SCALE
    assert len({one.key for one in (*every.choices, *every.confidences)}) == 9
    assert every.clean_answer(312, unit=None, design=None) == 312
    assert every.describe_answer(311) == "A, by far (Certain)"
    assert every.sides.to_canonical(311, side=True) == 312 == every.sides.from_canonical(311, side=True)
    assert every.sides.to_canonical(200, side=True) == 200
    with pytest.raises(ValueError, match="expected"):
        every.clean_answer(12, unit=None, design=None)  # how sure was not said
    with refuses(ValueError, "0 or 1 or 2"):
        ties.clean_answer(3, unit=None, design=None)


def test_controls_compare_sides_and_no_difference_is_an_answer_of_its_own() -> None:
    kind = kind_with("pairwise", **ALL)
    assert kind.is_right(311, 1)
    assert not kind.is_right(300, 1)
    assert kind.is_right(100, 0)
    assert kind.expected_on_repeat(212) == 2
    assert kind.count_right(1) / len(kind.values) == pytest.approx(1 / 3)


def test_votes_for_no_difference_are_no_tie_of_votes() -> None:
    kind = kind_with(no_difference=True, neither=True)
    found = kind.aggregation.consensus([1, 1, 1, 2, 2, 2, 3, 3], [0, 0, 1, 1, 0, 2, 3, 3])
    assert [(found[unit].value, found[unit].tie) for unit in (1, 2, 3)] == [
        (0, False),
        (None, True),
        (3, False),
    ]
    assert found[1].votes == {"1": 1, "2": 0, "0": 2, "3": 0}


@pytest.mark.parametrize(
    ("values", "remaining", "expected"),
    [
        ([], 3, (-1, 1)),
        ([1, 1], 1, (1, 1)),
        ([0, 0], 1, (0, 0)),
        ([1, 0], 1, (0, 1)),
        ([11, 2, 0], 0, (0, 0)),
        ([2, 12, 0], 1, (-1, 0)),
    ],
)
def test_early_stopping_knows_what_more_votes_can_change(
    values: list[int], remaining: int, expected: tuple[int, int]
) -> None:
    kind = kind_with(no_difference=True, strength=True)
    assert kind.aggregation.outcome_range(values, remaining) == expected
    # by trying all that may follow
    outcomes = set()
    for first in range(remaining + 1):
        for second in range(remaining + 1 - first):
            rest = [1] * first + [2] * second
            for cast in {len(rest), remaining}:
                votes = Counter(value % 10 for value in [*values, *rest, *[0] * (cast - len(rest))])
                top = [side for side in (0, 1, 2) if votes[side] == max(votes.values(), default=0)]
                outcomes.add({1: 1, 2: -1}.get(top[0], 0) if len(top) == 1 else 0)
    assert (min(outcomes), max(outcomes)) == expected


def test_votes_are_weighed_by_confidence_where_that_is_asked_for(client: Client) -> None:
    study = make_study(answers=ALL, protocol="pairwise", units_per_hit=7, name="Sure")
    rehearse(study=study, crowd=RehearsalCrowd(workers=8, spammers=0.0, seed=4))
    assert "models" not in compute_aggregation(study=study).result
    run_aggregation(study=study, method=["confidence"])
    model = (
        Analysis.objects.filter(study=study, what="aggregation").latest("pk").result["models"]["confidence"]
    )
    table = load_judgments(study)
    levels = model["levels"]
    assert [row["level"] for row in levels] == [1, 2, 3]
    assert sum(row["answers"] for row in levels) == table.is_counted.sum()
    assert all(row["weight"] >= 0 for row in levels)
    client.force_login(User.objects.create_superuser("root", password="a long phrase of words"))
    shown = client.get(f"/admin/judgments/study/{study.pk}/results/").content.decode()
    assert "Agreement with the majority of the other participants, by confidence: A guess: " in shown

    plain = make_study(protocol="pairwise", units_per_hit=7, name="Plain")
    rehearse(study=plain, crowd=RehearsalCrowd(workers=8, spammers=0.0, seed=4))
    found = compute_aggregation(study=plain, method=["confidence"]).result["models"]["confidence"]
    assert found == {"reason": "Nobody was asked how sure they are."}


def test_strength_alone_has_an_order() -> None:
    study = make_study(answers={"strength": True}, protocol="pairwise", units_per_hit=7)
    rehearse(study=study, crowd=RehearsalCrowd(workers=8, spammers=0.0, seed=5))
    found = compute_aggregation(study=study).result["agreement"]
    assert found["ordinal"]["level"] == "ordinal"
    assert found["ordinal"]["value"] != found["alpha"]["value"]


def test_a_whole_study_with_every_answer() -> None:
    study = make_study(answers=ALL, protocol="pairwise", units_per_hit=7)
    ada = joined(study)
    html, assignment = work_of(study, ada)
    first, *others = positions_on(html)
    assert "How sure are you?" in html
    assert 'name="u1" value="11" data-key="1"' in html
    fields = {f"u{place}": "12" for place in others} | {f"v{place}": "300" for place in others}
    half = submit(study, ada, assignment, fields | {f"u{first}": "0"})
    kept = half.content.decode()
    assert "This item has no answer yet." in kept
    assert f'name="u{first}" value="0" data-key="0" checked' in kept  # how sure is still to be said
    whole = fields | {f"u{first}": "0", f"v{first}": "100"}
    assert submit(study, ada, assignment, whole).status_code == 303
    given = dict(Judgment.objects.filter(assignment=assignment).values_list("unit_id", "value"))
    assert set(given.values()) == {100, 311, 312}
    Assignment.objects.all().delete()

    study = make_study(answers=ALL, protocol="pairwise", units_per_hit=7, name="Rehearsed")
    rehearse(study=study, crowd=RehearsalCrowd(workers=8, spammers=0.0, seed=4))
    table = load_judgments(study)
    assert set(np.unique(table.value)) <= {0, 1, 2, 3}
    assert np.array_equal(table.full_value % 10, table.value)
    assert (table.full_value >= 100).all()
    assert str(signature_of_study(study)) == str(signature_of_study(study, table=table))
    found = compute_aggregation(study=study)
    agreement = found.result["agreement"]
    assert agreement["alpha"]["level"] == "nominal"
    assert agreement["ordinal"]["level"] == "ordinal"
    assert agreement["ordinal"]["judgments"] <= agreement["alpha"]["judgments"]
    assert "answers:" in found.judgments
    assert kind_of(study).outcomes == (1, 2, 0, 3)


def test_metrics_are_held_against_ties() -> None:
    sizes: dict[str, Any] = {"sampling": {"pairs": {"MM": 6}}, "units_per_hit": 4, "judgments_per_unit": 8}
    study = make_study("pairwise", answers={"no_difference": True}, **sizes)
    rehearse(study=study, crowd=RehearsalCrowd(workers=9, spammers=0.0, seed=1))
    readings = evaluate_study(study=study, metrics=["bleu-1"], ties=True)["readings"]["ties"]["bleu-1"]
    assert readings["calibrated"]["value"] >= readings["plain"]["value"]
    assert readings["plain"]["n"] == 6
    assert 0 <= readings["soft"]["value"] <= 1
    assert readings["soft"]["pairs"] == 1


def test_a_file_of_judgments_brings_its_ties_along(tmp_path: Any) -> None:
    make_dataset()
    path = tmp_path / "votes.jsonl"
    row = {"protocol": "pairwise", "image": "000.jpg", "first_text": "A dog .", "second_text": "A cat ."}
    row["answers"] = "no_difference,neither,strength"
    votes = [("u1", "ada", 1), ("u1", "bob", 0), ("u1", "cy", 0), ("u2", "ada", 12), ("u2", "bob", 3)]
    path.write_text(
        "".join(
            f"{json.dumps(row | dict(zip(('unit', 'worker', 'value'), vote, strict=True)))}\n"
            for vote in votes
        )
    )
    import_judgments(format="jsonl", path=path, dataset="animals", study="brought")
    study = Study.objects.get(slug="brought")
    assert design_of(study).answers.model_dump() == {
        "no_difference": True, "neither": True, "strength": True, "confidence": False,
    }  # fmt: skip
    found = compute_aggregation(study=study).consensus.of_unit
    assert [(one.value, one.tie) for _, one in sorted(found.items())] == [(0, False), (None, True)]
    table = read_judgment_table(path, numeric=True)
    assert table.values.tolist() == [1, 0, 0, 2, 3]
    path.write_text(json.dumps(row | {"unit": "u", "worker": "w", "value": 7}))
    with refuses(ImportProblem, column="value", actual="7"):
        import_judgments(format="jsonl", path=path, dataset="animals", study="wrong")
    assert not Study.objects.filter(slug="wrong").exists()
