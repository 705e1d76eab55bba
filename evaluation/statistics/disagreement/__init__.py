"""Disagreement as data: soft labels, what predicts them, and groups of raters who differ."""

from evaluation.statistics.disagreement.groups import (
    KnownGroupsResult,
    RaterGroupsResult,
    known_groups,
    rater_groups,
)
from evaluation.statistics.disagreement.soft_labels import (
    DivergenceResult,
    SoftLabels,
    divergence,
    judge_probabilities,
    metric_probabilities,
    soft_labels,
)
