"""Captions in, scores out, without Django, a clock or random state.

All functions raise InvalidInput for data that they cannot take and UnknownName for unknown options.
"""

from evaluation.metrics.errors import (
    InvalidFile,
    InvalidInput,
    MetricsError,
    UnknownName,
)
from evaluation.metrics.h13 import bleu_pre_matrix, bleu_pre_pairs
from evaluation.metrics.scoring import MetricCall, MetricScore, Scores, call_of, score
from evaluation.signatures import BadSignature

__all__ = [
    "BadSignature",
    "InvalidFile",
    "InvalidInput",
    "MetricCall",
    "MetricScore",
    "MetricsError",
    "Scores",
    "UnknownName",
    "bleu_pre_matrix",
    "bleu_pre_pairs",
    "call_of",
    "score",
]
