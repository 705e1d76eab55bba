"""Candidates and the references that they are compared with, as numbered words: the common input of all metrics.

`ReferenceComparison` holds the texts and tokenizes them once for all metrics. Its methods return the arrays that
compiled kernels read (`kernel_inputs`).
"""

from quorum.metrics.comparison.distinct_lists import DistinctLists
from quorum.metrics.comparison.kernel_inputs import TextGroups, TextPairs, select_groups, split_groups
from quorum.metrics.comparison.prepared_texts import PreparedTexts
from quorum.metrics.comparison.reference_comparison import MAX_TOKENS, ReferenceComparison, Tokenization

__all__ = [
    "MAX_TOKENS",
    "DistinctLists",
    "PreparedTexts",
    "ReferenceComparison",
    "TextGroups",
    "TextPairs",
    "Tokenization",
    "select_groups",
    "split_groups",
]
