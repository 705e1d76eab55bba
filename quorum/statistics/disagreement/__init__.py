"""Disagreement as data: soft labels, predictions of them, and groups of raters who differ."""

from quorum.statistics.disagreement.distributions import (
    CORRECTIONS,
    DivergenceResult,
    SoftLabels,
    divergence,
    judge_probabilities,
    metric_probabilities,
    soft_labels,
)
from quorum.statistics.disagreement.groups import (
    NO_COMMON_ITEMS,
    TOO_FEW_GROUPS,
    KnownGroupsResult,
    RaterGroupsResult,
    known_groups,
    rater_groups,
)
