"""Accuracy of metrics on PASCAL-50S beside what V15 print (section 7.2, Figure 3)."""

from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics import score
from evaluation.statistics.meta import accuracy_by_references, pair_accuracy, random_subsets
from tests.metrics.reading import read_lines

KINDS = ("HC", "HI", "HM", "MM")
OURS = {
    "bleu-4": (65.1, 97.2, 91.7, 58.9),
    "rouge-l": (65.8, 98.2, 94.7, 63.3),
    "cider-d": (68.4, 99.2, 92.4, 66.9),
}
# Kinds of which the published figure lies within our interval: of BLEU-4 those of human captions.
PUBLISHED = {"bleu-4": {"HC": 64.8, "HI": 97.7}, "rouge-l": {"HC": 66.3, "HI": 98.5, "HM": 95.8, "MM": 64.4}}


def test_metrics_agree_with_people_as_documented_and_more_so_with_more_references(shared: Path) -> None:
    folder = shared / "data/pascal-50s"
    references = {row["image"]: row["references"][:48] for row in read_lines(folder / "references.jsonl")}
    pairs = read_lines(folder / "pairs.jsonl")
    candidates = [pair["first"] for pair in pairs] + [pair["second"] for pair in pairs]
    winners, kinds = [pair["triplet_winner"] for pair in pairs], [pair["kind"] for pair in pairs]

    def sides(size: int) -> dict[str, np.ndarray]:
        (places,) = random_subsets(48, size, draws=1, seed=7)
        chosen = {image: [texts[place] for place in places] for image, texts in references.items()}
        own = [chosen[pair["image"]] for pair in pairs]
        found = score(candidates, own * 2, metrics=list(OURS), document_corpus=list(chosen.values()))
        return {name: np.reshape(found.scores[name].images, (2, -1)) for name in OURS}

    few, all_of_them = sides(1), sides(48)
    for name, expected in OURS.items():
        first, second = all_of_them[name]
        found = pair_accuracy(first, second, winners, kinds)
        assert [100 * found[kind].value for kind in KINDS] == pytest.approx(expected, abs=0.051)
        for kind, published in PUBLISHED.get(name, {}).items():
            assert found[kind].low <= published / 100 <= found[kind].high
        scores = {1: (few[name][0], few[name][1]), 48: (first, second)}
        curves = accuracy_by_references(scores, winners, kinds)
        assert curves["all"].value[1] == found["all"].value
        assert curves["all"].high[0] < curves["all"].low[1]
