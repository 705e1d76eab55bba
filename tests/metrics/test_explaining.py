"""An explanation's parts add up to the score that `score` gives, and say where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.metrics import InvalidInput, MetricsError, UnknownName, score
from evaluation.metrics.explanation import Explanation
from evaluation.metrics.registry import EXPLAINED, Documents, explain, view_of
from tests.metrics.reading import read_lines

DEMO = Path(__file__).resolve().parents[2] / "demo"
CLOSE = 1e-9

REFERENCES = [
    "A brown dog runs over the green grass.",
    "The dog is running over grass",
    "A dog runs, and runs, and runs across a field!",
]
CORPUS = [
    REFERENCES,
    ["A cat sleeps on a chair.", "The cat is sleeping on the chair"],
    ["Two people ride a horse over a field.", "People riding horses"],
    ["A dog sits on a chair", "The brown dog is on a chair."],
]
CANDIDATES = [
    "A brown dog runs over the grass",
    "a a a a a dog dog",
    "The running dogs are crossing a field while a zebra watches",
    "dog",
    "Nothing in common whatsoever",
    "",
    "the of and",
    REFERENCES[1],
]


def scored(candidate: str, references: list[str], metric: str, corpus: Any, **options: Any) -> float:
    """The figure that `score` gives."""
    found = score([candidate], [references], [metric], document_corpus=corpus, **options)
    return float(found.scores[metric].images[0])


def adds_up(found: Explanation, expected: float) -> None:
    assert found.score == pytest.approx(expected, abs=CLOSE)
    assert sum(part.contribution for part in found.parts) == pytest.approx(expected, abs=CLOSE)
    if found.tokens:
        named = sum(part.contribution for part in found.parts if part.order)
        assert sum(token.contribution for token in found.tokens) == pytest.approx(named, abs=CLOSE)


@pytest.mark.parametrize("metric", EXPLAINED)
@pytest.mark.parametrize("candidate", CANDIDATES)
def test_the_parts_add_up_to_the_score(metric: str, candidate: str) -> None:
    adds_up(
        explain(candidate, REFERENCES, metric, documents=CORPUS),
        scored(candidate, REFERENCES, metric, CORPUS),
    )


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("bleu-4", {"smoothing": "nist"}),
        ("rouge-l", {"beta": 3.0}),
        ("rouge-1", {"measure": "recall", "stem": "porter"}),
        ("rouge-2", {"measure": "precision"}),
        ("rouge-2", {"alpha": 0.2, "stop": "drop"}),
        ("cider", {"n": 2, "stem": "none"}),
        ("cider-d", {"n": 3, "sigma": 2.0, "scale": 1.0}),
        ("bleu-pre", {"order": "stem-first"}),
        ("meteor", {"stages": "exact-stem"}),
    ],
)
def test_with_options_too(metric: str, options: dict[str, Any]) -> None:
    for candidate in CANDIDATES:
        found = explain(candidate, REFERENCES, metric, documents=CORPUS, **options)
        adds_up(found, scored(candidate, REFERENCES, metric, CORPUS, **options))


def check_all(candidates: list[str], references: list[list[str]], corpus: list[list[str]]) -> None:
    """Every metric, with one document corpus for all candidates."""
    expected = score(candidates, references, EXPLAINED, document_corpus=corpus).scores
    for metric in EXPLAINED:
        given = Documents.of(corpus, view_of(metric)) if metric.startswith("cider") else None
        for row, candidate in enumerate(candidates):
            found = explain(candidate, references[row], metric, documents=given)
            adds_up(found, float(expected[metric].images[row]))


@pytest.mark.large
def test_on_captions_of_the_demo() -> None:
    references: dict[str, list[str]] = {}
    for row in read_lines(DEMO / "captions.jsonl"):
        references.setdefault(row["image"], []).append(row["caption"])
    corpus = list(references.values())
    candidates = [row for path in sorted((DEMO / "systems").glob("*.jsonl")) for row in read_lines(path)][::9]
    check_all(
        [row["caption"] for row in candidates], [references[row["image"]] for row in candidates], corpus
    )


def test_on_captions_of_pascal_50s(shared: Path) -> None:
    folder = shared / "data/pascal-50s"
    rows = read_lines(folder / "references.jsonl")[::10]
    references = {row["image"]: row["references"][:12] for row in rows}
    pairs = [pair for pair in read_lines(folder / "pairs.jsonl") if pair["image"] in references][::40]
    check_all(
        [pair["second"] for pair in pairs],
        [references[pair["image"]] for pair in pairs],
        list(references.values()),
    )


def test_document_frequencies_are_those_of_a_plain_count() -> None:
    documents = Documents.of(CORPUS, view_of("cider-d"))
    texts = [
        [f" {text.lower().replace('.', '').replace(',', '').replace('!', '')} " for text in one]
        for one in CORPUS
    ]
    for candidate in CANDIDATES:
        for part in explain(candidate, REFERENCES, "cider-d", documents=documents).parts:
            holders = sum(any(f" {part.words} " in text for text in one) for one in texts)
            assert part.idf == pytest.approx(np.log(len(CORPUS) / max(holders, 1)))
            assert bool(part.note) == (holders == 0)


def test_references_that_are_no_document_are_not_counted() -> None:
    found = explain("a zebra", ["a zebra", "a zebra sleeps"], "cider", documents=CORPUS)
    parts = {part.words: part for part in found.parts}
    assert parts["zebra"].references == (0, 1)
    assert parts["zebra"].idf == 0
    assert parts["zebra"].note == "in no document: dropped"
    assert parts["a"].idf == pytest.approx(np.log(4 / 4))


def test_bleu_says_what_was_clipped_and_which_reference_is_nearest() -> None:
    found = explain("a a a a a dog dog", REFERENCES, "bleu-1")
    parts = {part.words: part for part in found.parts}
    assert (parts["a"].count, parts["a"].matched, parts["a"].references) == (5, 2, (0, 2))
    assert "clipped" in parts["a"].note
    assert [one.chosen for one in found.references] == ["", "nearest in length", ""]
    factors = {factor.name: factor.value for factor in found.factors}
    assert factors["precision 1"] == pytest.approx(3 / 7)
    assert factors["brevity penalty"] == 1


def test_rouge_says_which_share_of_the_references_and_of_the_candidate_is_found() -> None:
    # "the dog" of the first reference and "a dog" of the second: 4 matches of 5 + 3 words, and of 5 words twice
    found = explain("the dog is a puppy", ["the dog runs over grass", "a dog sleeps"], "rouge-1")
    factors = {factor.name: factor.value for factor in found.factors}
    assert factors == {"recall": pytest.approx(4 / 8), "precision": pytest.approx(4 / 10)}
    assert found.score == pytest.approx(4 / 9)  # their harmonic mean
    nothing = explain("grey rain", ["the dog runs over grass", "a dog sleeps"], "rouge-1")
    assert {factor.name: factor.value for factor in nothing.factors} == {"recall": 0, "precision": 0}


def test_cider_says_what_is_rare_and_which_reference_adds_most() -> None:
    found = explain(REFERENCES[1], REFERENCES, "cider-d", documents=CORPUS)
    parts = {part.words: part for part in found.parts}
    assert parts["running"].idf == pytest.approx(np.log(4))
    assert parts["the"].idf == pytest.approx(np.log(4 / 3))
    assert max(found.references, key=lambda one: one.contribution or 0).text.startswith("the dog is running")
    assert sum(one.contribution or 0 for one in found.references) == pytest.approx(found.score)


def test_one_document_weighs_nothing_and_says_so() -> None:
    found = explain("A dog", REFERENCES, "cider")
    assert found.score == 0
    assert "one document" in found.warnings[0]


def test_what_cannot_be_explained_is_refused_in_words() -> None:
    with pytest.raises(InvalidInput, match="'rouge-w' cannot be explained, expected one of bleu-1"):
        explain("a", ["a"], "rouge-w")
    with pytest.raises(UnknownName):
        explain("a", ["a"], "blue")
    with pytest.raises(MetricsError, match="bata"):
        explain("a", ["a"], "rouge-l", bata=2)
    with pytest.raises(InvalidInput, match="multi:average"):
        explain("a", ["a"], "rouge-1", multi="best")
    with pytest.raises(InvalidInput, match="other words"):
        explain("a", ["a"], "cider", documents=Documents.of(CORPUS, view_of("cider-d")))
    with pytest.raises(InvalidInput):
        explain("a", [], "bleu-1")
