"""The categories and weights of errors by MQM (mqm.toml), and the score of an answer by these weights."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from contrib.error_spans.kind.answers import CATEGORY, SEVERITY, Span


@dataclass(frozen=True, slots=True)
class MqmScheme:
    """The categories of errors by MQM, and the weights of errors.

    Attributes:
        labels: the label of each category, by name.
        weights: the weight of an error by severity, such as ``{"minor": 1.0, "major": 5.0}``.
        weights_by_category: the same by category, for categories whose weights differ.
    """

    labels: Mapping[str, str]
    weights: Mapping[str, float]
    weights_by_category: Mapping[str, Mapping[str, float]]

    def with_weights(self, weights: Mapping[str, Mapping[str, float]]) -> MqmScheme:
        """Return a copy with other weights of some errors.

        Args:
            weights: these weights by category and severity; the category "" stands for all other categories.
        """
        new_weights = dict(weights)
        default_weights = {**self.weights, **new_weights.pop("", {})}
        weights_by_category = dict(self.weights_by_category)
        for category, category_weights in new_weights.items():
            weights_by_category[category] = {**weights_by_category.get(category, {}), **category_weights}
        return replace(self, weights=default_weights, weights_by_category=weights_by_category)

    def weight(self, span: Span) -> float:
        weights = self.weights_by_category.get(span.get(CATEGORY, ""), {})
        return weights.get(span[SEVERITY], self.weights[span[SEVERITY]])

    def score(self, spans: Iterable[Span]) -> float:
        """Return the negative sum of the weights of the errors, as at WMT."""
        return 0.0 - sum(map(self.weight, spans))  # -sum(...) would be -0.0 if all weights are 0


def _read_mqm() -> MqmScheme:
    document = tomllib.loads(Path(__file__).with_name("mqm.toml").read_text(encoding="utf-8"))
    return MqmScheme(
        labels={category["name"]: category["label"] for category in document["category"]},
        weights=document["weights"],
        weights_by_category={
            category["name"]: category["weights"]
            for category in document["category"]
            if "weights" in category
        },
    )


MQM: Final = _read_mqm()


def score_of(answer: Mapping[str, Any], mqm: MqmScheme = MQM) -> float:
    """Return the score of an answer or, if the answer has none, the MQM score of its spans."""
    return float(answer["score"]) if "score" in answer else mqm.score(answer["spans"])
