"""ROUGE-1.5.5: the script's own figures, a slow form of it, and what follows from its definition."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.metrics import InvalidInput, call_of, score
from tests.metrics.reading import GOLDEN, read_json, read_lines
from tests.metrics.rouge155_plainly import rouge155

SMALL = read_json(GOLDEN / "small/rouge155.json")
SEVERAL = read_json(GOLDEN / "rouge155_several.json")
REFERENCES = read_json(GOLDEN / "small/references.json")
CANDIDATES = read_lines(GOLDEN / "small/candidates.jsonl")
# The script's names -> ours: `rouge-l` is the MS COCO evaluation's.
NAMES = {name: name for name in ("rouge-1", "rouge-2", "rouge-w", "rouge-s4", "rouge-su4")}
NAMES["rouge-l"] = "rouge-l-155"
METRICS = list(NAMES.values())
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "stem": {"stem": "wordnet"},
    "porter": {"stem": "porter"},
    "stop": {"stop": "drop"},
    "stem-stop": {"stem": "wordnet", "stop": "drop"},
    "porter-stop": {"stem": "porter", "stop": "drop"},
}
MEASURES = {"r": "recall", "p": "precision", "f": "f"}
# The script's figures are given with twelve digits, the last one cut off somewhere on the way.
DIGITS = 3e-12


def assert_agree(
    candidates: dict[str, str], references: dict[str, list[str]], expected: dict[str, Any], **options: Any
) -> None:
    images = list(candidates)
    for letter, measure in MEASURES.items():
        found = score(
            [candidates[image] for image in images],
            [references[image] for image in images],
            metrics=[NAMES[name] for name in expected],
            measure=measure,
            **options,
        )
        for name, figures in expected.items():
            ours = found.scores[NAMES[name]]
            theirs = [figures[letter]["images"][image] for image in images]
            np.testing.assert_allclose(ours.images, theirs, rtol=0, atol=DIGITS, err_msg=f"{name} {measure}")
            assert ours.corpus == pytest.approx(figures[letter]["corpus"], rel=0, abs=DIGITS)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    "system", ["nasty", *(pytest.param(one, marks=pytest.mark.large) for one in ("close", "vague"))]
)
def test_captions_score_what_the_script_gives_them(system: str, options: str) -> None:
    captions = {row["image"]: row["caption"] for row in CANDIDATES if row["system"] == system}
    assert_agree(captions, REFERENCES, SMALL["options"][options][system], **OPTIONS[options])


@pytest.mark.parametrize("options", OPTIONS)
def test_irregular_words_score_what_the_script_gives_them(options: str) -> None:
    irregular = SMALL["irregular"]
    expected = irregular["options"][options]
    assert_agree(irregular["candidates"], irregular["references"], expected, **OPTIONS[options])


@pytest.mark.large
@pytest.mark.parametrize("key", SEVERAL["results"])
def test_several_references_are_averaged_chosen_from_and_left_out_as_by_the_script(key: str) -> None:
    options, multi, jackknife = key.split("|")
    candidates, references = SEVERAL["candidates"], SEVERAL["references"]
    for place, measure in enumerate(("recall", "precision", "f")):
        found = score(
            list(candidates.values()),
            [references[name] for name in candidates],
            metrics=METRICS,
            measure=measure,
            multi=multi,
            jackknife=jackknife,
            **OPTIONS[options],
        )
        for metric, expected in SEVERAL["results"][key].items():
            # ROUGE-W has no figure where a reference has no words: there the script divides by zero.
            known = [i for i, name in enumerate(candidates) if expected[name] is not None]
            theirs = [figures[place] for figures in expected.values() if figures is not None]
            ours = found.scores[NAMES[metric]].images[known]
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=DIGITS, err_msg=f"{metric} {measure}")


@pytest.mark.parametrize("key", SEVERAL["pooled"])
def test_pooled_figures_divide_the_sums_that_the_script_counts(key: str) -> None:
    multi, jackknife = key.split("|")
    names = [name for name, figures in SEVERAL["results"]["plain|average|no"]["rouge-w"].items() if figures]
    arguments = (
        [SEVERAL["candidates"][name] for name in names],
        [SEVERAL["references"][name] for name in names],
        METRICS,
    )
    chosen = {"multi": multi, "jackknife": jackknife, "corpus": "pooled"}
    recall, precision, f = (
        score(*arguments, measure=measure, **chosen).scores for measure in MEASURES.values()
    )
    for metric, (of_references, of_candidates, hits) in SEVERAL["pooled"][key].items():
        name = NAMES[metric]
        # Sums of weights are given with six digits behind the point.
        assert recall[name].corpus == pytest.approx(hits / of_references, rel=1e-8)
        assert precision[name].corpus == pytest.approx(hits / of_candidates, rel=1e-8)
        assert f[name].corpus == pytest.approx(2 * hits / (of_references + of_candidates), rel=1e-8)


WORD_LISTS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]), max_size=9)
LONG_LISTS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=55, max_size=140)
CASES = st.tuples(WORD_LISTS, st.lists(WORD_LISTS, min_size=1, max_size=5))


@pytest.mark.large
@given(
    cases=st.lists(CASES, min_size=1, max_size=5),
    metric=st.sampled_from(METRICS),
    best=st.booleans(),
    jackknife=st.booleans(),
    alpha=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_the_fast_form_agrees_with_the_slow_one(
    cases: list[tuple[list[str], list[list[str]]]], metric: str, best: bool, jackknife: bool, alpha: float
) -> None:
    expected = [
        rouge155(candidate, references, metric, best=best, jackknife=jackknife, alpha=alpha)
        for candidate, references in cases
    ]
    for place, measure in enumerate(("recall", "precision", "f")):
        found = score(
            [" ".join(candidate) for candidate, _ in cases],
            [[" ".join(words) for words in references] for _, references in cases],
            metrics=[metric],
            measure=measure,
            multi="best" if best else "average",
            jackknife="yes" if jackknife else "no",
            alpha=alpha,
        ).scores[metric]
        np.testing.assert_allclose(found.images, [one[place] for one in expected], rtol=0, atol=1e-12)
        assert ((found.images >= 0) & (found.images <= 1)).all()


@given(
    candidate=LONG_LISTS,
    references=st.lists(LONG_LISTS, min_size=1, max_size=2),
    metric=st.sampled_from(METRICS),
)
@settings(max_examples=15, derandomize=True, deadline=None)
def test_captions_longer_than_a_machine_word_agree_with_the_slow_form(
    candidate: list[str], references: list[list[str]], metric: str
) -> None:
    texts = [" ".join(words) for words in references]
    found = score([" ".join(candidate)], [texts], [metric]).scores[metric]
    assert found.corpus == pytest.approx(rouge155(candidate, references, metric)[2], rel=0, abs=1e-12)


def test_a_perfect_match_has_recall_one_but_for_rouge_w() -> None:
    found = score(["a dog runs fast"], [["a dog runs fast"]], METRICS, measure="recall").scores
    assert [found[metric].corpus for metric in METRICS if metric != "rouge-w"] == [1.0] * 5
    # Four words weigh 4^1.2, their total is (4^1.2)^1.2; the root of the quotient is 4^(1 - 1.2).
    assert found["rouge-w"].corpus == pytest.approx(4**-0.2)


def test_a_caption_of_one_word_has_no_skip_bigrams_and_no_single_word_in_su4() -> None:
    found = score(["dog"], [["dog"]], METRICS).scores
    figures = {metric: round(found[metric].corpus, 12) for metric in METRICS}
    assert figures == {
        "rouge-1": 1.0,
        "rouge-2": 0.0,
        "rouge-l-155": 1.0,
        "rouge-w": 1.0,
        "rouge-s4": 0.0,
        "rouge-su4": 0.0,
    }


def test_rouge_w_without_weight_is_rouge_l() -> None:
    captions = SEVERAL["candidates"]
    references = [SEVERAL["references"][name] for name in captions]
    found = score(list(captions.values()), references, ["rouge-w", "rouge-l-155"], weight=1.0).scores
    np.testing.assert_allclose(found["rouge-w"].images, found["rouge-l-155"].images, rtol=0, atol=1e-12)


@pytest.mark.parametrize("empty", ["", "  \n", "... !?", "🐕🐕", "כלב רץ"])
def test_a_caption_without_words_scores_zero(empty: str) -> None:
    for options in ({}, {"multi": "best"}, {"jackknife": "yes"}, {"corpus": "pooled"}):
        found = score([empty], [["a dog runs", "two dogs"]], METRICS, **options).scores
        assert [found[metric].corpus for metric in METRICS] == [0.0] * 6
        found = score(["a dog runs"], [[empty, empty]], METRICS, **options).scores
        assert [found[metric].corpus for metric in METRICS] == [0.0] * 6


def test_a_reference_without_words_lowers_precision_alone() -> None:
    found = {
        measure: score(["a dog"], [["a dog", "..."]], ["rouge-1"], measure=measure).scores["rouge-1"].corpus
        for measure in MEASURES.values()
    }
    assert found == {"recall": 1.0, "precision": 0.5, "f": pytest.approx(2 / 3)}


def test_the_best_reference_is_the_one_of_highest_recall() -> None:
    options: dict[str, Any] = {"multi": "best", "measure": "precision"}
    # Recall 1 with one hit in four beats recall 3/4 with three hits in four.
    assert score(["a b c d"], [["a b c x", "d"]], ["rouge-1"], **options).scores["rouge-1"].corpus == 0.25
    # Equal recall: the first reference counts.
    assert score(["a b c d"], [["a b", "c"]], ["rouge-1"], **options).scores["rouge-1"].corpus == 0.5
    assert score(["a b c d"], [["c", "a b"]], ["rouge-1"], **options).scores["rouge-1"].corpus == 0.25


def test_the_jackknife_leaves_out_each_reference_once() -> None:
    options: dict[str, Any] = {"measure": "recall", "jackknife": "yes"}
    # Recall without the first reference 1/3, without the second 2/3, without the third 3/4.
    found = score(["a b"], [["a b", "a x", "y"]], ["rouge-1"], **options).scores["rouge-1"]
    assert found.corpus == pytest.approx((1 / 3 + 2 / 3 + 3 / 4) / 3)
    # The best of the others: 1/2, 1, 1.
    found = score(["a b"], [["a b", "a x", "y"]], ["rouge-1"], multi="best", **options).scores["rouge-1"]
    assert found.corpus == pytest.approx((1 / 2 + 1 + 1) / 3)


@pytest.mark.large
def test_captions_of_ten_thousand_words_are_scored() -> None:
    long, short = " ".join(["dog", "cat"] * 5000), "dog cat " * 50
    for candidate, reference, measure in ((long, short, "recall"), (short, long, "precision")):
        found = score([candidate], [[reference]], METRICS, measure=measure).scores
        assert [found[metric].corpus for metric in METRICS if metric != "rouge-w"] == [1.0] * 5
    found = score([long], [["cat"]], METRICS, measure="precision").scores
    assert found["rouge-1"].corpus == found["rouge-l-155"].corpus == 1e-4
    assert found["rouge-w"].corpus == pytest.approx(1e-4)


def test_stop_words_are_dropped_before_words_are_stemmed() -> None:
    # "goings" is no stop word, its stem "go" is one.
    found = score(["the goings"], [["of goings"]], ["rouge-1"], stop="drop", stem="porter").scores["rouge-1"]
    assert found.corpus == 1.0


def test_stemming_takes_irregular_forms_only_when_asked() -> None:
    captions, references = ["children and oxen"], [["child and ox"]]
    found = {
        stem: round(score(captions, references, ["rouge-1"], stem=stem).scores["rouge-1"].corpus, 5)
        for stem in ("none", "porter", "wordnet")
    }
    assert found == {"none": 0.33333, "porter": 0.33333, "wordnet": 1.0}


def test_what_the_irregular_forms_give_is_not_stemmed_any_more() -> None:
    # geese -> goose by the list, goose -> goos by the rules.
    found = score(["geese"], [["goose"]], ["rouge-1"], stem="wordnet").scores["rouge-1"]
    assert found.corpus == 0.0


def test_the_signature_tells_how_to_compute_the_score_again() -> None:
    usual = score(["a"], [["a", "b"]], ["rouge-w"]).scores["rouge-w"]
    assert usual.signature == (
        "rouge-w|measure:f|multi:average|stop:keep|stem:none|weight:1.2|tok:rouge|refs:2|v:1.0"
    )
    captions, references = ["a child eats leaves", "geese"], [["children ate", "a leaf"], ["the goose"]]
    unusual = score(
        captions,
        references,
        ["rouge-su4"],
        measure="recall",
        multi="best",
        jackknife="yes",
        corpus="pooled",
        stop="drop",
        stem="wordnet",
        alpha=0.3,
    ).scores["rouge-su4"]
    assert unusual.signature == (
        "rouge-su4|measure:recall|alpha:0.3|multi:best|jackknife:yes|corpus:pooled|stop:drop|stem:wordnet"
        "|tok:rouge|refs:1-2|v:1.0"
    )
    again = call_of(unusual.signature)(captions, references)
    assert (again.corpus, again.images.tolist()) == (unusual.corpus, unusual.images.tolist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "r"}, "measure.*'r'.*recall.*precision"),
        ({"multi": "max"}, "multi.*max.*average.*best"),
        ({"jackknife": True}, "jackknife.*True.*yes"),
        ({"corpus": "sum"}, "corpus.*sum.*mean.*pooled"),
        ({"stem": "snowball"}, "stem.*snowball.*none.*porter.*wordnet"),
        ({"stop": "yes"}, "stop.*yes.*keep.*drop"),
        ({"alpha": 1.5}, r"alpha.*1\.5"),
        ({"weight": 0.9}, r"weight.*0\.9.*\b5\b"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        score(["a"], [["a"]], ["rouge-w"], **options)


def recall_of_best(candidate: str, references: list[str]) -> float:
    found = score([candidate], [references], ["rouge-1"], measure="recall", multi="best")
    return float(found.scores["rouge-1"].images[0])


def test_a_reference_is_the_best_only_by_what_the_script_prints() -> None:
    """One hit in 499 and in 500 words are both .00200, so that the first of the two counts."""
    sizes = (400, 499, 500)
    nearer, shorter, longer = (" ".join(["dog", *(f"w{n}" for n in range(1, size))]) for size in sizes)
    assert recall_of_best("dog", [shorter, longer]) == pytest.approx(1 / 499, rel=1e-12)
    assert recall_of_best("dog", [longer, shorter]) == pytest.approx(1 / 500, rel=1e-12)
    assert recall_of_best("dog", [longer, nearer]) == pytest.approx(1 / 400, rel=1e-12)
