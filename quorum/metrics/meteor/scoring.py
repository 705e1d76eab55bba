"""METEOR 1.5 (Denkowski, Lavie 2014), with the official parameters for English (task "rank").

Matches are weighted by stage, content words by delta and function words by 1 - delta (Vedantam et al. 2015 eq. 16-20):

    F = P R / (alpha P + (1 - alpha) R),  Pen = gamma (chunks / matches) ^ beta,  METEOR = (1 - Pen) F

`matches` is the mean of the matched words of both texts. As in the program, Pen is 0 if all words match in one chunk.
Texts are first rewritten (`normalisation`), then each candidate is aligned with its references (`alignment`).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorum.metrics.comparison import ReferenceComparison, Tokenization
from quorum.metrics.inputs import MissingTables
from quorum.metrics.meteor.alignment import (
    CANDIDATE_FUNCTION,
    CANDIDATE_LENGTH,
    CHUNKS,
    FIELDS,
    MATCHED,
    PER_STAGE,
    REFERENCE_FUNCTION,
    REFERENCE_LENGTH,
    align,
)
from quorum.metrics.meteor.beam_search import allocate_buffers
from quorum.metrics.meteor.caption_phrases import no_phrases, phrases_in
from quorum.metrics.meteor.matches import (
    MATCH_COLUMNS,
    CandidateWords,
    MatchingData,
    clear_candidate,
    write_candidate,
)
from quorum.metrics.meteor.normalisation import normalise_texts
from quorum.metrics.meteor.relations import ALL, PARAPHRASE, STAGE_CHOICES, STAGES, SYNONYM, relate_words
from quorum.metrics.meteor.table_files import DATA
from quorum.metrics.meteor.tables import MAX_PHRASE_LENGTH, MeteorTables, available_tables
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.compiling import compiled

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
MAX_MATCHES_IN_MEMORY = 500_000  # a longer search is divided into rounds of about this many matches
STAGE_WEIGHTS = (1.0, 0.6, 0.8, 0.6)  # of STAGES
_STAGE_WEIGHTS = np.array(STAGE_WEIGHTS)


@dataclass(frozen=True, slots=True)
class MeteorStatistics:
    """Counts of each candidate aligned with its best reference.

    counts: (candidates, FIELDS), whose columns `alignment` documents.
    """

    counts: NDArray[np.int64]


def count_available_stages() -> int:
    """Return the number of stages that the installed tables support, without reading the tables."""
    tables = available_tables()
    if tables.paraphrases:
        return len(STAGES)
    # Return the number of the first stage without its table, which is the number of the stages before it.
    return PARAPHRASE if tables.synonyms else SYNONYM


def count_stages(name: str) -> int:
    """Return the number of stages of ALL, or of one of STAGE_CHOICES, without reading tables.

    Raise MissingTables if a stage needs a table that is not installed.
    """
    available_count = count_available_stages()
    stage_count = len(STAGES) if name == ALL else STAGE_CHOICES.index(name) + 1
    if stage_count > available_count:
        raise MissingTables(
            f"meteor needs its {STAGES[available_count]} table, which is not installed; get the tables by `pip "
            f"install -r requirements-meteor.txt` (104 MB), or point {DATA} to METEOR 1.5, or ask for "
            f"meteor|stages:{STAGE_CHOICES[available_count - 1]}, a shorter form that needs no more than what is there"
        )
    return stage_count


def meteor_statistics(
    comparison: ReferenceComparison,
    tokenization: Tokenization,
    tables: MeteorTables,
    stage_count: int,
    max_matches: int = MAX_MATCHES_IN_MEMORY,
) -> MeteorStatistics:
    """Align every candidate with its references by the first `stage_count` stages; keep the best reference of each.

    Of equally good references, the first is kept. If two long texts have more than `max_matches` matches, these are
    searched in rounds, to limit the memory. The result is the same.
    """
    tokens = comparison.cached_result(
        ("meteor", tokenization, tables.digest),
        lambda: normalise_texts(comparison.tokens(tokenization), tables.abbreviations),
    )
    word_relations = relate_words(tokens.vocabulary, stage_count, tables.synonyms)
    phrases = no_phrases()
    if stage_count > PARAPHRASE and tables.paraphrases is not None:
        phrases = phrases_in(tokens, tables.paraphrases)
    is_function = np.array([word in tables.function_words for word in tokens.vocabulary], dtype=np.bool_)
    data = MatchingData(tokens.tokens, tokens.starts, is_function, word_relations, phrases, max_matches)
    return MeteorStatistics(
        _best_references(data, comparison.group_of, comparison.group_starts, _STAGE_WEIGHTS)
    )


def meteor_scores(statistics: MeteorStatistics) -> Floats:
    """Return the scores from 0 to 1, one for each row of counts."""
    return _scores(statistics.counts, _STAGE_WEIGHTS)


def pooled_statistics(statistics: MeteorStatistics) -> MeteorStatistics:
    """Return the counts summed over all candidates, as one row. As in the program, perfect matches have no chunk."""
    counts = statistics.counts
    total = counts.sum(axis=0, keepdims=True)
    total[0, CHUNKS] -= np.count_nonzero(_is_perfect(counts))
    return MeteorStatistics(total)


def _is_perfect(counts: NDArray[np.int64]) -> Flags:
    """Return flags of candidates whose words all match all words of the reference, in one chunk."""
    matched_in_candidate = counts[:, MATCHED:CHUNKS:2].sum(axis=1)  # columns of both texts alternate
    matched_in_reference = counts[:, MATCHED + 1 : CHUNKS : 2].sum(axis=1)
    all_match = (matched_in_candidate == counts[:, CANDIDATE_LENGTH]) & (
        matched_in_reference == counts[:, REFERENCE_LENGTH]
    )
    return np.asarray(all_match & (counts[:, CHUNKS] == 1))


@compiled
def _best_references(
    data: MatchingData, group_of: Ints, group_starts: Ints, stage_weights: Floats
) -> NDArray[np.int64]:
    """Return the (candidates, FIELDS) statistics of each candidate with the reference of the highest score."""
    best_counts = np.zeros((group_of.size, FIELDS), dtype=np.int64)
    max_length = max_reference_length = 1
    for text in range(data.starts.size - 1):
        length = data.starts[text + 1] - data.starts[text]
        if text < group_of.size:  # the candidates come before the references
            max_length = max(max_length, length)
        else:
            max_reference_length = max(max_reference_length, length)
    # At most MAX_PHRASE_LENGTH phrases begin at a word, one of each length. -1 stands for the end of a list and, in the
    # last two arrays, for no text: they have the number of the last candidate to which a phrase is related.
    candidate = CandidateWords(
        first_position=np.full(data.is_function.size, -1, dtype=np.int32),
        next_position=np.empty(max_length, dtype=np.int32),
        first_occurrence=np.full(data.phrases.lengths.size, -1, dtype=np.int32),
        next_occurrence=np.empty(max_length * MAX_PHRASE_LENGTH, dtype=np.int32),
        occurrence_positions=np.empty(max_length * MAX_PHRASE_LENGTH, dtype=np.int32),
        text_with_target=np.full(data.phrases.lengths.size, -1, dtype=np.int32),
        text_with_source=np.full(data.phrases.lengths.size, -1, dtype=np.int32),
    )
    buffers = allocate_buffers(max_length, max_reference_length)
    matches = np.empty((64, MATCH_COLUMNS), dtype=np.int64)  # enlarged where needed
    statistics = np.zeros(FIELDS, dtype=np.int64)
    for text in range(group_of.size):
        write_candidate(data, candidate, text)
        highest_score = -1.0
        group = group_of[text]  # of references, which begin at group_starts[group]
        for reference in range(group_starts[group], group_starts[group + 1]):
            matches = align(data, candidate, buffers, text, reference, matches, statistics)
            score = _score(_terms(statistics, stage_weights))
            if score > highest_score:
                highest_score = score
                for column in range(FIELDS):
                    best_counts[text, column] = statistics[column]
        clear_candidate(data, candidate, text)
    return best_counts


@compiled
def _scores(counts: NDArray[np.int64], stage_weights: Floats) -> Floats:
    scores = np.empty(counts.shape[0])
    for row in range(counts.shape[0]):
        scores[row] = _score(_terms(counts[row], stage_weights))
    return scores


class _Terms(NamedTuple):
    """P, R, F and Pen of an alignment by the module's formula, all 0 without a match."""

    precision: float
    recall: float
    f: float
    penalty: float


@compiled
def _terms(counts: Ints, stage_weights: Floats) -> _Terms:
    weighted_counts = np.zeros(2)
    match_counts = np.zeros(2)
    for kind in range(2):  # content words, then function words: add in the program's order
        for stage in range(stage_weights.size):
            for side in range(2):  # candidate, then reference
                count = counts[MATCHED + PER_STAGE * stage + 2 * kind + side]
                weighted_counts[side] += count * stage_weights[stage] * (DELTA if kind == 0 else 1.0 - DELTA)
                match_counts[side] += count
    if weighted_counts[0] == 0.0 or weighted_counts[1] == 0.0:
        return _Terms(0.0, 0.0, 0.0, 0.0)
    functions = (counts[CANDIDATE_FUNCTION], counts[REFERENCE_FUNCTION])
    content = (counts[CANDIDATE_LENGTH] - functions[0], counts[REFERENCE_LENGTH] - functions[1])
    precision = weighted_counts[0] / (DELTA * content[0] + (1.0 - DELTA) * functions[0])
    recall = weighted_counts[1] / (DELTA * content[1] + (1.0 - DELTA) * functions[1])
    f = 1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall)
    is_perfect = (
        match_counts[0] == counts[CANDIDATE_LENGTH]
        and match_counts[1] == counts[REFERENCE_LENGTH]
        and counts[CHUNKS] == 1
    )
    fragmentation = 0.0 if is_perfect else counts[CHUNKS] / ((match_counts[0] + match_counts[1]) / 2)
    return _Terms(precision, recall, f, GAMMA * fragmentation**BETA)


@compiled
def _score(terms: _Terms) -> float:
    return terms.f * (1.0 - terms.penalty)
