"""Captions -> scores. numpy and scipy only: no Django, no clock, no random state."""

from evaluation.metrics.errors import (
    InvalidFile,
    InvalidInput,
    MetricsError,
    UnavailableMetric,
    UnknownName,
)
from evaluation.metrics.h13 import bleu_pre_matrix
from evaluation.metrics.scoring import MetricScore, Scores, score

__all__ = [
    "InvalidFile",
    "InvalidInput",
    "MetricScore",
    "MetricsError",
    "Scores",
    "UnavailableMetric",
    "UnknownName",
    "bleu_pre_matrix",
    "score",
]
