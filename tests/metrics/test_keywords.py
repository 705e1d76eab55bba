"""Keywords against people's, by hand, and against SemEval-2007's own files and scores."""

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.metrics import InvalidFile, UnknownName, keywords
from quorum.metrics.keywords import (
    CALLS,
    KeywordScore,
    SubstitutionScores,
    frequent_words,
    gold_tags,
    keyword_best,
    keyword_best_mode,
    keyword_f1,
    keyword_oot,
    keyword_oot_mode,
    read_answers,
    read_gold,
    substitution_scores,
)
from quorum.metrics.signatures import call_of_measure
from tests.metrics import plain_annotation as plainly
from tests.refusals import assert_names

untyped: Any = keywords  # called with what its types forbid

# MC12 table 4, the tags of two images.
MARKET = {"cartoon": 6, "market": 5, "market share": 5, "declin": 3, "imag": 3, "share": 3, "pictur": 1}
LIFT = {"lift index": 5, "gener": 3, "index": 3, "condit": 2, "lift": 1}
WORD = st.sampled_from(["dog", "cat", "ball", "red", "sky", "🐕", "כלב"])
GUESSES = st.lists(WORD, max_size=12)
TAGS = st.dictionaries(WORD, st.integers(1, 4), max_size=5)
TASK = st.lists(st.tuples(GUESSES, TAGS), min_size=1, max_size=6)


def test_the_best_keyword_is_credited_by_how_many_people_gave_it() -> None:
    found = keyword_best([["cartoon"], ["index"]], [MARKET, LIFT])
    assert found.images.tolist() == [6 / 26, 3 / 14]
    assert found.recall == found.precision == pytest.approx((6 / 26 + 3 / 14) / 2, rel=1e-15)
    assert found.signature == "keyword-best|eval:include-infrequent|duplicates:credited|v:1.0"


def test_several_best_keywords_share_their_credit() -> None:
    assert keyword_best([["cartoon", "market", "dog", "cat"]], [MARKET]).recall == pytest.approx(11 / 26 / 4)


def test_ten_keywords_are_credited_without_a_penalty_and_an_eleventh_is_not_read() -> None:
    wrong = [f"wrong {number}" for number in range(8)]
    assert keyword_oot([["cartoon", *wrong, "market", "share"]], [MARKET]).recall == pytest.approx(11 / 26)
    assert keyword_oot(
        [["cartoon", *wrong, "market", "share"]], [MARKET], guesses=11
    ).recall == pytest.approx(14 / 26)
    assert keyword_oot([list(MARKET)], [MARKET]).recall == 1.0


def test_the_mode_is_the_single_most_frequent_tag() -> None:
    tied = {"dog": 2, "cat": 2, "red": 1}
    guesses = [["market", "cartoon"], ["lift index"], ["dog"]]
    best = keyword_best_mode(guesses, [MARKET, LIFT, tied])
    oot = keyword_oot_mode(guesses, [MARKET, LIFT, tied])
    np.testing.assert_array_equal(best.images, [0, 1, math.nan])
    np.testing.assert_array_equal(oot.images, [1, 1, math.nan])
    assert (best.recall, oot.recall, best.counted, best.undefined) == (0.5, 1.0, 2, 1)
    assert_names(best.reason, "tag", "1")
    assert oot.signature == "keyword-oot-mode|guesses:10|eval:include-infrequent|v:1.0"


def test_an_image_without_guesses_counts_in_recall_alone() -> None:
    for found in (
        keyword_best([[], ["dog"]], [{"dog": 1}, {"dog": 1}]),
        keyword_oot([[], ["dog"]], [{"dog": 1}, {"dog": 1}]),
        keyword_best_mode([[], ["dog"]], [{"dog": 1}, {"dog": 1}]),
        keyword_oot_mode([[], ["dog"]], [{"dog": 1}, {"dog": 1}]),
    ):
        assert (found.precision, found.recall, found.counted, found.attempted) == (1.0, 0.5, 2, 1)
        assert found.images.tolist() == [0, 1]
        assert found.reason == "images without guesses: 1"


def test_a_repeated_guess_is_credited_again_unless_asked_otherwise() -> None:
    twice = keyword_oot([["dog", "dog"], ["cat", "dog"]], [{"dog": 1, "cat": 1}] * 2)
    assert (twice.recall, twice.repeated) == (1.0, 1)
    once = keyword_oot([["dog", "dog"], ["cat", "dog"]], [{"dog": 1, "cat": 1}] * 2, duplicates="once")
    assert (once.recall, once.repeated) == (0.75, 1)
    assert once.signature == "keyword-oot|guesses:10|eval:include-infrequent|duplicates:once|v:1.0"
    # Ten different ones are read then.
    assert keyword_oot([["a"] * 10 + ["dog"]], [{"dog": 1}], duplicates="once").recall == 1.0


@settings(max_examples=40)
@given(TASK, st.integers(1, 12))
def test_figures_follow_from_the_definitions(
    task: list[tuple[list[str], dict[str, int]]], guesses: int
) -> None:
    said, tags = [pair[0] for pair in task], [pair[1] for pair in task]
    modes = [plainly.mode(own) for own in tags]
    has_tags, has_mode = [bool(own) for own in tags], [mode is not None for mode in modes]
    found = {
        "best": keyword_best(said, tags),
        "best-mode": keyword_best_mode(said, tags),
        "oot": keyword_oot(said, tags, guesses=guesses),
        "oot-mode": keyword_oot_mode(said, tags, guesses=guesses),
    }
    expected: dict[str, tuple[list[float], list[bool]]] = {
        "best": ([plainly.credit(a, r) / max(len(a), 1) for a, r in task], has_tags),
        "best-mode": ([float(a[:1] == [mode]) for a, mode in zip(said, modes, strict=True)], has_mode),
        "oot": ([plainly.credit(a[:guesses], r) for a, r in task], has_tags),
        "oot-mode": ([float(mode in a[:guesses]) for a, mode in zip(said, modes, strict=True)], has_mode),
    }
    for name, score in found.items():
        credit, is_defined = expected[name]
        np.testing.assert_allclose(score.images, np.where(is_defined, credit, np.nan), rtol=1e-12)
        of_all = [value for value, ok in zip(credit, is_defined, strict=True) if ok]
        of_attempted = [v for v, ok, own in zip(credit, is_defined, said, strict=True) if ok and own]
        assert score.recall == pytest.approx(np.mean(of_all) if of_all else math.nan, nan_ok=True)
        assert score.precision == pytest.approx(
            np.mean(of_attempted) if of_attempted else math.nan, nan_ok=True
        )
        assert (score.counted, score.attempted) == (len(of_all), len(of_attempted))
        assert score.undefined == len(task) - len(of_all)


@settings(max_examples=30)
@given(TASK, st.integers(1, 12), st.none() | st.frozensets(WORD))
def test_precision_and_recall_follow_from_sets(
    task: list[tuple[list[str], dict[str, int]]], guesses: int, vocabulary: frozenset[str] | None
) -> None:
    found = keyword_f1([a for a, _ in task], [r for _, r in task], guesses=guesses, vocabulary=vocabulary)
    rows = []
    for said, tags in task:
        known = [word for word in dict.fromkeys(said) if vocabulary is None or word in vocabulary][:guesses]
        gold = {tag for tag in tags if vocabulary is None or tag in vocabulary}
        hits = len(gold & set(known))
        recall = hits / len(gold) if gold else math.nan
        precision = hits / len(known) if known and gold else math.nan
        rows.append((precision, recall, plainly.harmonic(precision, recall)))
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    means = [plainly.mean_and_sd(column)[0] for column in columns]
    for ours, column in zip(
        (found.image_precision, found.image_recall, found.image_f1), columns, strict=True
    ):
        np.testing.assert_allclose(ours, column, rtol=1e-12)
    for one, other in zip((found.precision, found.recall, found.mean_f1), means, strict=True):
        assert one == pytest.approx(other, nan_ok=True)
    assert found.f1 == pytest.approx(plainly.harmonic(means[0], means[1]), nan_ok=True)


def test_f1_is_that_of_the_mean_precision_and_the_mean_recall() -> None:
    found = keyword_f1([["a", "b"], ["a", "b", "c", "d"]], [{"a": 1}, dict.fromkeys("axyz", 1)])
    assert (found.precision, found.recall) == (0.375, 0.625)
    assert found.f1 == pytest.approx(0.46875, rel=1e-15)
    assert found.mean_f1 == pytest.approx((2 / 3 + 1 / 4) / 2, rel=1e-15)


def test_a_system_that_gives_fewer_keywords_is_held_against_those() -> None:
    # MC12: title and sentence "do not need to generate ten keywords for every image".
    found = keyword_f1([["dog", "sky"]], [["dog", "ball", "dog"]])
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)


def test_standard_evaluation_leaves_infrequent_words_out_of_guesses_and_gold() -> None:
    # MC12 table 3: "parasite" appears fewer than five times in training.
    vocabulary = frequent_words([["malaria", "spread", "mosquito"]] * 5 + [["parasite"]] * 4)
    assert vocabulary == {"malaria", "spread", "mosquito"}
    guesses, gold = [["parasite", "malaria", "spread"]], [["malaria", "parasite", "spread", "mosquito"]]
    standard = keyword_f1(guesses, gold, guesses=2, vocabulary=vocabulary)
    everything = keyword_f1(guesses, gold, guesses=2)
    assert (standard.precision, standard.recall) == (1.0, 2 / 3)
    assert (everything.precision, everything.recall) == (1.0, 2 / 4)
    assert everything.signature == "keyword-f1|guesses:2|eval:include-infrequent|v:1.0"
    assert standard.signature.startswith("keyword-f1|guesses:2|eval:standard|vocabulary:given-3-")
    tags = [{"malaria": 1, "parasite": 3}]
    assert keyword_oot(guesses, tags, vocabulary=vocabulary).recall == 1.0
    assert keyword_best_mode([["malaria"]], tags, vocabulary=vocabulary).recall == 1.0
    assert keyword_best([["parasite"]], tags, vocabulary=vocabulary).attempted == 0


def test_where_nothing_is_defined_figures_are_nan_without_a_warning() -> None:
    measures: list[Callable[..., Any]] = list(CALLS.values())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for measure in measures:
            nothing = measure([["dog"], []], [{}, {}])
            assert math.isnan(nothing.precision)
            assert math.isnan(nothing.recall)
            assert nothing.reason.startswith("images without")
            assert (nothing.counted, nothing.undefined) == (0, 2)
    assert math.isnan(keyword_f1([[]], [["dog"]]).f1)


def test_no_hit_is_zero() -> None:
    found = keyword_f1([["cat"]], [["dog"]])
    assert (found.precision, found.recall, found.f1, found.mean_f1) == (0, 0, 0, 0)


def test_tags_of_one_stem_are_merged_by_adding_their_counts() -> None:
    # MC12 section 3.2: "many keywords have a higher count than the number of annotators".
    people = [["Tank", "tanks", "Bill Gates"], ["tank", "tank", "bill gate", "🚀"], [], ["  "]]
    assert gold_tags([people, []]) == [{"tank": 3, "bill gate": 2, "🚀": 1}, {}]
    assert gold_tags([people], stem="none")[0]["tanks"] == 1


def test_signatures_lead_back_to_the_call() -> None:
    data = ([["dog", "dog", "sky"], ["cat"]], [{"dog": 2, "cat": 1}, {"sky": 1, "cat": 3}])
    known = frozenset({"dog", "cat"})
    made: list[tuple[KeywordScore, dict[str, Any]]] = [
        (keyword_best(*data), {}),
        (keyword_best(*data, duplicates="once"), {}),
        (keyword_oot(*data, guesses=1, vocabulary=known), {"vocabulary": known}),
        (keyword_oot_mode(*data, guesses=2, modes=["sky", None]), {"modes": ["sky", None]}),
        (keyword_best_mode(*data, vocabulary=known), {"vocabulary": known}),
    ]
    for found, given_again in made:
        again = call_of_measure(found.signature, CALLS)(*data, **given_again)
        assert (again.signature, again.recall) == (found.signature, found.recall)
    overlap = untyped.keyword_f1(*data, guesses=np.int64(1))
    assert call_of_measure(overlap.signature, CALLS)(*data).f1 == overlap.f1


# What score.pl of SemEval-2007 task 10 (copy in github.com/orenmel/lexsub at 4197fcc) prints for these lines: hyphens,
# an apostrophe, another spelling, proper nouns, numbers, repeated and empty answers, a second line for an item.
GOLD_LINES = """\
tree.n 1 :: alpha 3;beta 1;gamma 1;
tree.n 2 :: well-known 2;famous 1;
tree.n 3 :: colour 2;don't 2;
tree.n 4 :: single 1;
tree.n 5 :: double 2;
tree.n 6 :: one two 2;two one 1;x 1;
tree.n 7 :: pn 3;name 1;other 1;
tree.n 8 ::\x20
tree.n 9 :: spnitz 2;dog 1;
tree.n 10 :: 11.27 kilograms 2;heavy 1;
tree.n 11 :: nontoxic 3;safe 2;
tree.n 12 :: realize 2;see 1;
tree.n 13 :: late 4;later 1;
""".splitlines()

BEST_LINES = """\
tree.n 1 :: alpha
tree.n 2 :: well-known;famous
tree.n 3 :: color;dont
tree.n 4 :: single
tree.n 5 :: double;double
tree.n 6 :: one-two;two one;;
tree.n 7 :: name
tree.n 8 :: a
tree.n 9 :: dog
tree.n 10 :: heavy;27 kilograms
tree.n 11 :: non-toxic
tree.n 12 :: realize;;see
tree.n 99 :: dog
tree.n 1 :: beta
""".splitlines()

OOT_LINES = [
    line.replace(" :: heavy;", " :: a;b;c;d;e;f;g;h;heavy;i;").replace(" :: ", " ::: ") for line in BEST_LINES
]

PRINTED = {
    "best": (10, 9, 53.15, 47.83, 8, 7, 71.43, 62.50),
    "oot": (10, 9, 83.70, 75.33, 8, 7, 71.43, 62.50),
}


def percent(share: float) -> float:
    """As the task's program rounds."""
    return int(share * 100 * 100 + 0.5) / 100


def printed(scores: SubstitutionScores) -> tuple[float, ...]:
    return tuple(
        figure
        for one in (scores.normal, scores.mode)
        for figure in (one.counted, one.attempted, percent(one.precision), percent(one.recall))
    )


@pytest.mark.parametrize("measure", ["best", "oot"])
def test_the_tasks_program_prints_these_figures_for_awkward_lines(measure: str) -> None:
    lines = BEST_LINES if measure == "best" else OOT_LINES
    scores = substitution_scores(read_answers(lines, measure), read_gold(GOLD_LINES), measure)
    assert printed(scores) == PRINTED[measure]


@pytest.mark.parametrize(
    ("answers", "measure", "figures"),
    [
        ("baseline.best", "best", (1696, 1696, 22.68, 22.68, 1230, 1230, 41.14, 41.14)),
        ("baseline-two.best", "best", (1696, 1696, 17.34, 17.34, 1230, 1230, 41.14, 41.14)),
        ("baseline.oot", "oot", (1696, 1696, 64.47, 64.47, 1230, 1230, 82.20, 82.20)),
    ],
)
def test_the_tasks_program_prints_these_figures_for_its_test_items(
    shared: Path, answers: str, measure: str, figures: tuple[float, ...]
) -> None:
    # data/semeval-2007-task10/expected_scores.txt
    folder = shared / "data/semeval-2007-task10"
    gold = read_gold((folder / "lst_test.gold").read_text("latin-1").splitlines())
    own = read_answers((folder / answers).read_text("latin-1").splitlines(), measure)
    assert printed(substitution_scores(own, gold, measure)) == figures
    assert len(gold.answers) == 1696


def test_in_the_tasks_gold_the_first_answer_is_the_single_most_frequent_one(shared: Path) -> None:
    gold = read_gold((shared / "data/semeval-2007-task10/lst_test.gold").read_text("latin-1").splitlines())
    tags = list(gold.answers.values())
    first = [list(own)[:1] for own in tags]
    ours = keyword_best_mode(first, tags)
    theirs = keyword_best_mode(first, tags, modes=list(gold.modes.values()))
    assert (ours.recall, ours.counted) == (theirs.recall, theirs.counted) == (1.0, 1230)


def test_an_item_without_answers_is_not_attempted() -> None:
    gold = read_gold(["tree.n 1 :: oak 2;", "", "tree.n 2 :: elm 2;"])
    for line in ("tree.n 2 ::", "tree.n 2 :: ", "tree.n 2 :: ;;"):
        scores = substitution_scores(read_answers(["tree.n 1 :: oak", "", line], "best"), gold, "best")
        assert (scores.normal.attempted, scores.normal.precision, scores.normal.recall) == (1, 1.0, 0.5)
        assert (scores.mode.attempted, scores.mode.recall) == (1, 0.5)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: read_gold(["a.n 1 :: b 2;", "rubbish"]), InvalidFile, r"\b2\b.*rubbish"),
        (lambda: read_gold(["a.n 1 :: b 2;"] * 2), InvalidFile, r"\b2\b.*\b1\b"),
        (
            lambda: read_answers(["a.n 1 :: b"], "oot"),
            InvalidFile,
            r"word\.pos",
        ),
        (lambda: read_answers([], "mode"), UnknownName, "unknown measure 'mode'"),
        (lambda: substitution_scores({}, read_gold([]), "ood"), UnknownName, "oot"),
    ],
)
def test_other_lines_are_refused_with_their_number(
    call: Callable[[], Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        call()
