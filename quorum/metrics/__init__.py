"""Metrics that score captions against references, without Django, a clock, or global random state.

All functions raise InvalidInput for invalid data and UnknownName for unknown options. Unless stated otherwise, arrays
are (n,) float64 or int64, one entry for each candidate. Compiled kernels see texts as numbered words (`text.tokens`).
See docs/metrics.md, and docs/content-and-keywords.md for `content` and `keywords`. Papers are cited as H13 (Hodosh et
al. 2013), V15 (Vedantam et al. 2015), MC12 (Mason, Charniak 2012), WG15 and WG16 (Wang, Gaizauskas 2015 and 2016).
"""

from typing import TYPE_CHECKING

from quorum.metrics.h13_overlap import bleu_pre_matrix, bleu_pre_pairs
from quorum.metrics.inputs import (
    InvalidFile,
    InvalidInput,
    MetricsError,
    MissingTables,
    PackageFailed,
    UnknownName,
)
from quorum.metrics.registry import MetricCall, MetricScore, Scores, call_of, score
from quorum.numeric.signatures import BadSignature
from quorum.numeric.submodules import lazy_modules

__all__ = [
    "BadSignature",
    "InvalidFile",
    "InvalidInput",
    "MetricCall",
    "MetricScore",
    "MetricsError",
    "MissingTables",
    "PackageFailed",
    "Scores",
    "UnknownName",
    "bleu_pre_matrix",
    "bleu_pre_pairs",
    "call_of",
    "score",
]

if not TYPE_CHECKING:  # pragma: no branch, as type checkers alone skip it; they would accept every name
    __getattr__, __dir__ = lazy_modules(__name__, __path__)
