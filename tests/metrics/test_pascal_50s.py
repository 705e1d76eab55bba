"""PASCAL-50S: the authors' own CIDEr scores, and the accuracies that V15 publishes."""

from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics import score
from tests.metrics.reading import read_lines

CONSENSUS_REFERENCES = 48


def test_cider_is_that_of_its_authors(shared: Path) -> None:
    folder = shared / "data/pascal-50s"
    # One reference reads "ovr=er", which the authors' program did not take apart.
    references = {
        row["image"]: [text.replace("=", "") for text in row["references"]]
        for row in read_lines(folder / "references.jsonl")
    }
    pairs = read_lines(folder / "pairs.jsonl")
    found = score(
        [pair["first"] for pair in pairs],
        [references[pair["image"]] for pair in pairs],
        metrics=["cider"],
        tokenizer="v15",
        document_corpus=list(references.values()),
    )
    rows = (folder / "cider_v01_first.tsv").read_text().splitlines()[1:]
    expected = np.array([float(row.split("\t")[5]) for row in rows])
    np.testing.assert_allclose(found.scores["cider"].images, expected, rtol=0, atol=1e-12)


def test_cider_agrees_with_people_as_often_as_published(shared: Path) -> None:
    folder = shared / "data/pascal-50s"
    references = {
        row["image"]: row["references"][:CONSENSUS_REFERENCES]
        for row in read_lines(folder / "references.jsonl")
    }
    pairs = read_lines(folder / "pairs.jsonl")
    found = score(
        [pair["first"] for pair in pairs] + [pair["second"] for pair in pairs],
        [references[pair["image"]] for pair in pairs] * 2,
        metrics=["cider"],
        tokenizer="v15",
        document_corpus=list(references.values()),
    ).scores["cider"]
    first, second = np.split(found.images, 2)
    named = np.select([first > second, second > first], [1, 2], default=0)  # a tie names nobody
    right = named == [pair["triplet_winner"] for pair in pairs]
    kinds = np.array([pair["kind"] for pair in pairs])
    accuracy = {kind: 100 * right[kinds == kind].mean() for kind in ("HC", "HI", "HM", "MM")}
    assert accuracy == pytest.approx({"HC": 71.8, "HI": 99.7, "HM": 91.9, "MM": 72.2}, abs=0.05)
    assert found.signature.startswith("cider|n:4|stem:porter|unseen:dropped|tok:v15|refs:48|df:given-1000-")
