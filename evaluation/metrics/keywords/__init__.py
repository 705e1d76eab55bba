"""Keywords for images: their forms, and their agreement with people's (MC12)."""

from evaluation.metrics.keywords.measures import (
    CALLS,
    KeywordOverlap,
    KeywordScore,
    frequent_words,
    gold_tags,
    keyword_best,
    keyword_best_mode,
    keyword_f1,
    keyword_forms,
    keyword_oot,
    keyword_oot_mode,
    keyword_terms,
)

__all__ = [
    "CALLS",
    "KeywordOverlap",
    "KeywordScore",
    "frequent_words",
    "gold_tags",
    "keyword_best",
    "keyword_best_mode",
    "keyword_f1",
    "keyword_forms",
    "keyword_oot",
    "keyword_oot_mode",
    "keyword_terms",
]
