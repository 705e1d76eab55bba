"""Agreement of keywords with people's (Mason, Charniak 2012, MC12, §5.2 and §6.2; docs/content-and-keywords.md).

`measures` defines the measures. `lexical_substitution` reads the files of a task that is scored in the same way.
"""

from quorum.metrics.keywords.lexical_substitution import (
    SubstitutionGold,
    SubstitutionScores,
    read_answers,
    read_gold,
    substitution_scores,
)
from quorum.metrics.keywords.measures import (
    CALLS,
    CREDITED,
    CREDITED_ONCE,
    DEFAULT_GUESSES,
    DUPLICATES,
    MIN_FREQUENCY,
    STEMS,
    KeywordOverlap,
    KeywordScore,
    Tags,
    Vocabulary,
    check_gold,
    evaluation_fields,
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
    "CALLS", "CREDITED", "CREDITED_ONCE", "DEFAULT_GUESSES", "DUPLICATES", "MIN_FREQUENCY", "STEMS", "KeywordOverlap",
    "KeywordScore", "SubstitutionGold", "SubstitutionScores", "Tags", "Vocabulary", "check_gold", "evaluation_fields",
    "frequent_words", "gold_tags", "keyword_best", "keyword_best_mode", "keyword_f1", "keyword_forms", "keyword_oot",
    "keyword_oot_mode", "keyword_terms", "read_answers", "read_gold", "substitution_scores",
]  # fmt: skip
