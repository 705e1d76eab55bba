"""Two sources of judgments: which units are the same, and figures against hand-made tables and scikit-learn."""

import json
import random
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from scipy import stats

from contrib.comparing.sources.comparison import compare_sources
from contrib.comparing.sources.files import read_source
from evaluation.errors import EvaluationError
from quorum.statistics.inputs import BadOption
from tests.refusals import refuses
from tests.statistics.golden import golden

Row = dict[str, Any]


def write(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows_of(values: Mapping[str, Sequence[Any]], protocol: str | None = None, **more: Any) -> list[Row]:
    """One row a judgment: unit -> the answers of w1, w2, ..."""
    return [
        {"unit": unit, "worker": f"w{place}", "value": value, "protocol": protocol} | more
        for unit, answers in values.items()
        for place, value in enumerate(answers)
    ]


def compared(tmp_path: Path, first: Sequence[Row], second: Sequence[Row], **options: Any) -> dict[str, Any]:
    options = {"resamples": 50} | options
    sources = [
        read_source(write(tmp_path / f"{name}.jsonl", rows))
        for name, rows in (("first", first), ("second", second))
    ]
    return compare_sources(*sources, **options)


def test_a_two_by_two_table_gives_the_figures_that_are_worked_out_by_hand(tmp_path: Path) -> None:
    # 20 both, 5 first only, 10 second only, 15 neither (Cohen's kappa: po .7, pe .5, so .4)
    answers = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    first = {f"u{place}": [one] for place, (one, _) in enumerate(answers)}
    second = {f"u{place}": [other] for place, (_, other) in enumerate(answers)}
    found = compared(
        tmp_path,
        rows_of(first, "relevance"),
        rows_of(second, "relevance"),
        first_at_least=0.5,
        second_at_least=0.5,
    )
    (cell,) = found["thresholds"]["cells"]
    assert cell["kappa"]["value"] == pytest.approx(0.4)
    assert cell["precision"]["value"] == pytest.approx(20 / 25)
    assert cell["recall"]["value"] == pytest.approx(20 / 30)
    assert cell["f1"]["value"] == pytest.approx(40 / 55)
    assert (cell["both"], cell["first_only"], cell["second_only"], cell["neither"]) == (20, 5, 10, 15)
    assert found["consensus"]["kappa"]["value"] == pytest.approx(0.4)
    assert found["consensus"]["labels"] == [0, 1]
    assert found["consensus"]["table"] == [[15, 10], [5, 20]]
    # two raters a unit: alpha of both together is 1 - (n - 1) / n * what kappa with common shares would be
    shares = [(25 + 30) / 100, (25 + 20) / 100]
    expected = 1 - shares[0] ** 2 - shares[1] ** 2
    assert found["pooled_alpha"]["value"] == pytest.approx(1 - (0.3 / (expected * 100 / 99)))
    # of 0 and 1 all three correlations are phi
    phi = (20 * 15 - 5 * 10) / (25 * 25 * 30 * 20) ** 0.5
    assert [found["correlation"][name]["value"] for name in ("pearson", "spearman", "kendall-tau-b")] == [
        pytest.approx(phi)
    ] * 3


@pytest.mark.parametrize(
    "case", [one for one in golden("agreement.json")["cohen"] if set(one["first"]) == {1, 2}]
)
def test_kappa_of_two_consensuses_is_scikit_learns(case: Any, tmp_path: Path) -> None:
    first = {f"u{place}": [value] for place, value in enumerate(case["first"])}
    second = {f"u{place}": [value] for place, value in enumerate(case["second"])}
    found = compared(tmp_path, rows_of(first, "pairwise"), rows_of(second, "pairwise"))
    assert found["consensus"]["kappa"]["value"] == pytest.approx(case["plain"])
    assert found["consensus"]["n"] == len(first)


def test_correlations_of_a_crowds_shares_with_experts_means_are_scipys(tmp_path: Path) -> None:
    draw = random.Random(5)
    crowd = {f"u{place}": [draw.randint(0, 1) for _ in range(3)] for place in range(60)}
    experts = {
        unit: [min(4, max(1, 1 + sum(votes) + draw.randint(-1, 1))) for _ in range(3)]
        for unit, votes in crowd.items()
    }
    found = compared(tmp_path, rows_of(crowd, "relevance"), rows_of(experts, "graded"))
    shares = [sum(votes) / 3 for votes in crowd.values()]
    means = [sum(grades) / 3 for grades in experts.values()]
    expected = {
        "pearson": stats.pearsonr(shares, means).statistic,
        "spearman": stats.spearmanr(shares, means).statistic,
        "kendall-tau-b": stats.kendalltau(shares, means).statistic,
    }
    assert {name: one["value"] for name, one in found["correlation"].items()} == pytest.approx(expected)
    assert (found["consensus"]["kappa"], found["pooled_alpha"]["value"]) == (None, None)


def test_alpha_within_a_source_is_krippendorffs_own_example(tmp_path: Path) -> None:
    example = golden("agreement.json")["alpha"][0]
    rows = [
        {"unit": f"u{unit}", "worker": f"w{worker}", "value": value}
        for worker, answers in enumerate(example["data"])
        for unit, value in enumerate(answers)
        if value is not None
    ]
    found = compared(tmp_path, rows, rows)
    assert found["first"]["alpha"]["value"] == pytest.approx(example["alpha"]["nominal"])


@pytest.mark.parametrize("with_images", [0, 1])
def test_pooled_alpha_is_by_the_images_that_either_source_names(tmp_path: Path, with_images: int) -> None:
    draw = random.Random(1)
    values = {f"u{place}": [draw.randint(0, 1) for _ in range(5)] for place in range(12)}
    sources = [rows_of(values, "relevance"), rows_of(values, "relevance")]
    for row in sources[with_images]:
        row["image"] = f"image{int(row['unit'][1:]) // 2}.jpg"
    pooled = compared(tmp_path, *sources)["pooled_alpha"]
    assert pooled["clusters"] == {"item": 6, "rater": 10}
    assert pooled["first"]["clusters"] == pooled["second"]["clusters"] == {"item": 6, "rater": 5}


def test_alpha_warns_of_careless_raters_unless_each_of_its_sources_had_control_items(tmp_path: Path) -> None:
    answers = {f"u{number}": [number % 2] * 6 for number in range(100)} | {"u100": [0, 0, 0, 0, 0, 1]}
    without = rows_of(answers, "relevance")
    with_controls = without + rows_of({"c1": [1] * 6}, "relevance", control=True)

    def warnings(first: Sequence[Row], second: Sequence[Row]) -> list[bool]:
        pooled = compared(tmp_path, first, second)["pooled_alpha"]
        return ["at random" in alpha["note"] for alpha in (pooled, pooled["first"], pooled["second"])]

    assert warnings(without, without) == [True, True, True]
    assert warnings(with_controls, without) == [True, False, True]
    assert warnings(with_controls, with_controls) == [False, False, False]


def pair(unit: str, value: int, first: str, second: str, worker: str = "w", **more: Any) -> Row:
    """A choice between two captions of a.jpg."""
    return {
        "unit": unit, "worker": worker, "value": value, "protocol": "pairwise", "image": "a.jpg",
        "first": first, "second": second, **more,
    }  # fmt: skip


def test_units_with_other_ids_match_by_captions_and_exchanged_sides_exchange_the_answer(
    tmp_path: Path,
) -> None:
    first = [pair("x1", 1, "c1", "c2"), pair("x2", 2, "c3", "c4"), pair("x3", 1, "c5", "c6")]
    second = [pair("y1", 2, "c2", "c1"), pair("y2", 2, "c3", "c4"), pair("y9", 1, "c7", "c8")]
    found = compared(tmp_path, first, second)
    units = found["units"]
    assert (units["shared"], units["by_id"], units["by_content"], units["sides_exchanged"]) == (2, 0, 2, 1)
    assert (units["first_only"], units["second_only"]) == (1, 1)
    assert found["consensus"]["table"] == [[1, 0], [0, 1]]
    assert found["consensus"]["same"] == 2


def test_captions_without_ids_match_by_their_texts_on_the_same_image_alone(tmp_path: Path) -> None:
    shows = {"image": "a.jpg", "first_text": "A dog runs ."}
    first = rows_of({"x": [1, 1]}, "relevance", **shows)
    same = rows_of({"y": [4, 4]}, "graded", **shows | {"first_text": " A dog runs ."})
    other = rows_of({"z": [1, 1]}, "graded", **shows | {"image": "b.jpg"})
    found = compared(tmp_path, first, [*same, *other])
    assert (found["units"]["shared"], found["units"]["second_only"]) == (1, 1)


def test_one_id_for_two_different_captions_is_no_match(tmp_path: Path) -> None:
    first = rows_of({"1": [1]}, "relevance", image="a.jpg", first="c1")
    second = rows_of({"1": [1]}, "relevance", image="a.jpg", first="c2")
    assert compared(tmp_path, first, second)["units"]["shared"] == 0


def test_triplets_meet_pairs_without_their_references_and_all_their_votes_count(tmp_path: Path) -> None:
    triplets = [
        pair(f"t{place}", value, "c1", "c2", protocol="triplet", reference=f"r{place}")
        for place, value in enumerate([1, 1, 2])
    ]
    found = compared(tmp_path, triplets, [pair("p", 1, "c2", "c1", "v")])
    assert found["units"]["reference_ignored"]
    assert (found["units"]["shared"], found["units"]["first_joined"]) == (1, 2)
    # two of three for c1, and c2 of the pair
    assert found["consensus"]["table"] == [[0, 1], [0, 0]]
    assert found["pooled_alpha"]["value"] is None


def test_units_of_the_second_alone_are_left_out_or_a_no_and_both_is_counted(tmp_path: Path) -> None:
    first = rows_of({"a": [1], "b": [0], "mine": [1]}, "relevance")
    second = rows_of({"a": [1], "b": [0], "c": [1], "d": [0]}, "relevance")
    cuts = {"first_at_least": 0.5, "second_at_least": 0.5}
    left = compared(tmp_path, first, second, **cuts)
    assert left["missing"] == {"policy": "leave-out", "taken_as_no": 0, "left_out": 3}
    assert left["thresholds"]["cells"][0]["n"] == 2
    taken = compared(tmp_path, first, second, missing="no", **cuts)
    assert taken["missing"] == {"policy": "no", "taken_as_no": 2, "left_out": 1}
    cell = taken["thresholds"]["cells"][0]
    assert (cell["both"], cell["second_only"], cell["neither"]) == (1, 1, 2)
    with pytest.raises(BadOption, match="missing is 'yes'"):
        compared(tmp_path, first, second, missing="yes")


def test_what_is_undefined_is_null_with_its_reason(tmp_path: Path) -> None:
    nothing = compared(tmp_path, rows_of({"a": [1]}, "relevance"), rows_of({"b": [1]}, "relevance"))
    assert nothing["units"]["shared"] == 0
    for figure in (nothing["correlation"]["pearson"], nothing["consensus"]["kappa"]):
        assert figure["value"] is None
    assert nothing["correlation"]["pearson"]["reason"]
    assert nothing["thresholds"]["best"] is None
    words = compared(tmp_path, rows_of({"a": ["yes", "no"]}), rows_of({"a": ["no", "no"]}))
    assert words["thresholds"]["reason"]
    assert words["correlation"]["spearman"]["reason"]
    # a tie is no consensus
    assert words["consensus"]["undecided"] == 1


def test_the_same_seed_gives_the_same_intervals(tmp_path: Path) -> None:
    draw = random.Random(2)
    first = rows_of({f"u{n}": [draw.randint(0, 1)] for n in range(40)}, "relevance")
    second = rows_of({f"u{n}": [draw.randint(0, 1)] for n in range(40)}, "relevance")
    drawn = compared(tmp_path, first, second, seed=3, naive=True)
    assert drawn == compared(tmp_path, first, second, seed=3, naive=True)
    assert drawn["correlation"] != compared(tmp_path, first, second, seed=4, naive=True)["correlation"]
    by_unit = (compared(tmp_path, first, second, seed=seed)["correlation"] for seed in (3, 4))
    assert next(by_unit) == next(by_unit)


def test_answers_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    captions = rows_of({"a": [1]}, "caption")
    with pytest.raises(EvaluationError, match="protocol caption"):
        compared(tmp_path, captions, captions)


def call(*arguments: Any, **options: Any) -> tuple[dict[str, Any], str]:
    printed, aside = StringIO(), StringIO()
    call_command("agreement", *arguments, stdout=printed, stderr=aside, **options)
    return json.loads(printed.getvalue()), aside.getvalue()


def test_the_coefficients_of_a_file_stand_beside_its_alpha(tmp_path: Path) -> None:
    # Fleiss 1971's shape in small: four units, three raters; P = (1 + 1/3 + 1/3 + 1) / 4, shares 7/12 and 5/12
    file = write(
        tmp_path / "j.jsonl", rows_of({"a": [1, 1, 1], "b": [1, 1, 0], "c": [1, 0, 1], "d": [0, 0, 0]})
    )
    figures, _ = call(file, coefficient="alpha,percent,fleiss,gwet")
    assert set(figures) == {"alpha", "level", "units", "workers", "judgments", "coefficients"}
    found = {name: one["value"] for name, one in figures["coefficients"].items()}
    observed, share = 2 / 3, 7 / 12
    chance = share**2 + (1 - share) ** 2
    assert found["percent"] == pytest.approx(observed)
    assert found["fleiss"] == pytest.approx((observed - chance) / (1 - chance))
    ac_chance = 2 * share * (1 - share)
    assert found["gwet"] == pytest.approx((observed - ac_chance) / (1 - ac_chance))
    assert figures["coefficients"]["gwet"]["statistic"] == "gwet-ac1"
    plain, _ = call(file)
    assert "coefficients" not in plain


def test_fleiss_wants_equally_many_judgments_and_says_so(tmp_path: Path) -> None:
    file = write(tmp_path / "j.jsonl", rows_of({"a": [1, 1, 1], "b": [1, 0]}))
    figures, _ = call(file, coefficient="fleiss")
    assert figures["coefficients"]["fleiss"]["value"] is None
    assert figures["coefficients"]["fleiss"]["reason"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"missing": "no"}, "--missing"),
        ({"first_at_least": 0.5}, "--first-at-least"),
        ({"coefficient": "kapa"}, "kapa"),
        ({"second": Path("x"), "level": "ordinal"}, "--level"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(tmp_path: Path, options: Any, named: str) -> None:
    file = write(tmp_path / "j.jsonl", rows_of({"a": [1, 1]}))
    with pytest.raises(CommandError, match=named):
        call(file, **options)


def test_a_file_without_a_protocol_can_be_given_one_that_its_values_fit(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", rows_of({"a": [1, 1], "b": [4, 4], "c": [2, 3]}))
    second = write(tmp_path / "b.jsonl", rows_of({"a": [1], "b": [4], "c": [2]}))
    figures, _ = call(first, second=second, first_protocol="graded", second_protocol="graded", resamples=20)
    assert figures["first"]["level"] == "interval"
    assert len(figures["thresholds"]["cells"]) == 49
    with refuses(CommandError, "value", "4", "0", "1"):
        call(first, second=second, first_protocol="relevance")


def test_choices_beside_a_file_without_a_protocol_are_refused_until_it_is_named(tmp_path: Path) -> None:
    answers = {f"u{place}": [1 + place % 2, 1 + place % 2] for place in range(8)}
    first, second = rows_of(answers, "pairwise"), rows_of(answers)
    with pytest.raises(EvaluationError, match="--second-protocol"):
        compared(tmp_path, first, second)
    with pytest.raises(EvaluationError, match="--first-protocol"):
        compared(tmp_path, second, first)
    named = read_source(tmp_path / "first.jsonl", protocol="pairwise")
    found = compare_sources(named, read_source(tmp_path / "second.jsonl"), resamples=50)
    assert found["consensus"]["kappa"]["value"] == 1.0
    assert found["correlation"]["pearson"]["value"] == pytest.approx(1.0)


def test_alpha_of_pairs_is_the_same_whichever_text_is_called_the_first(tmp_path: Path) -> None:
    people = {"a": (1, 1, 2), "b": (1, 1, 1), "c": (2, 1, 1), "d": (1, 2, 1), "e": (2, 2, 2)}
    turned = {unit: [3 - side for side in sides] if unit in "bd" else sides for unit, sides in people.items()}
    found = [
        compared(tmp_path, rows_of(sides, "pairwise"), rows_of(sides, "pairwise"))
        for sides in (people, turned)
    ]
    for alpha in (lambda result: result["first"]["alpha"], lambda result: result["pooled_alpha"]):
        before, after = map(alpha, found)
        assert before["coding"] == "both-orders"
        assert after["value"] == pytest.approx(before["value"])
        assert (after["low"], after["high"]) == pytest.approx((before["low"], before["high"]))
