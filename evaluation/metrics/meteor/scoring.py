"""METEOR 1.5 (Denkowski, Lavie 2014; V15 eq. 16-20), with the official parameters for English (task "rank").

With matches weighted by their stage, content words by delta and function words by 1 - delta:

    F = P R / (alpha P + (1 - alpha) R),  Pen = gamma (chunks / matches) ^ beta,  METEOR = (1 - Pen) F
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.arrays import Flags, Floats, Ints
from evaluation.compiled import compiled
from evaluation.metrics.comparison import Comparison, View
from evaluation.metrics.errors import MissingTables
from evaluation.metrics.meteor.alignment import (
    CHUNKS,
    FIELDS,
    FUNCTION_1,
    FUNCTION_2,
    LENGTH_1,
    LENGTH_2,
    MATCHED,
    PER_STAGE,
    align,
    workspace,
)
from evaluation.metrics.meteor.matching import (
    ALL,
    COLUMNS,
    PARAPHRASE,
    STAGE_CHOICES,
    STAGES,
    SYNONYM,
    Candidate,
    Lookup,
    enter,
    leave,
    relations,
)
from evaluation.metrics.meteor.normalising import normalised
from evaluation.metrics.meteor.tables import (
    DATA,
    LONGEST,
    Tables,
    no_phrases,
    phrases_in,
    tables_there,
)

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
ENOUGH = 500_000  # matches held at once
WEIGHTS = (1.0, 0.6, 0.8, 0.6)  # by stage
_WEIGHTS = np.array(WEIGHTS)


@dataclass(frozen=True, slots=True)
class MeteorStatistics:
    """The counts behind METEOR of each candidate with its best reference; columns as in `alignment`."""

    counts: NDArray[np.int64]


def stages_there() -> int:
    """Return how many stages the tables that are there allow, without reading any."""
    there = tables_there()
    return len(STAGES) if there.paraphrases else PARAPHRASE if there.synonyms else SYNONYM


def stages_named(name: str) -> int:
    """Return the number of stages of ALL or of one of STAGE_CHOICES. Raise MissingTables, without reading any."""
    known = stages_there()
    asked = len(STAGES) if name == ALL else STAGE_CHOICES.index(name) + 1
    if asked > known:
        raise MissingTables(
            f"meteor needs its {STAGES[known]} table, which is not installed; get the tables by `pip install -r "
            f"requirements-meteor.txt` (104 MB), or point {DATA} to METEOR 1.5, or ask for "
            f"meteor|stages:{STAGE_CHOICES[known - 1]}, a shorter form that needs no more than what is there"
        )
    return asked


def meteor_statistics(
    comparison: Comparison, view: View, tables: Tables, stages: int, enough: int = ENOUGH
) -> MeteorStatistics:
    """Align every candidate with its references by the first `stages` stages; of equal references the first counts.

    Only about `enough` matches of two long texts are held at once.
    """
    words = comparison.once(
        ("meteor", view, tables.digest), lambda: normalised(comparison.words(view), tables.abbreviations)
    )
    related = relations(words.vocabulary, stages, tables.synonyms)
    phrases = no_phrases()
    if stages > PARAPHRASE and tables.paraphrases is not None:
        phrases = phrases_in(words, tables.paraphrases)
    is_function = np.array([word in tables.function_words for word in words.vocabulary], dtype=np.bool_)
    lookup = Lookup(words.words, words.starts, is_function, related, phrases, enough)
    return MeteorStatistics(_best_references(lookup, comparison.group_of, comparison.group_starts, _WEIGHTS))


def meteor_scores(statistics: MeteorStatistics) -> Floats:
    return _scores(statistics.counts, _WEIGHTS)


def pooled(statistics: MeteorStatistics) -> MeteorStatistics:
    """Return the corpus as one caption; a perfect match's only chunk costs nothing."""
    counts = statistics.counts
    total = counts.sum(axis=0, keepdims=True)
    total[0, CHUNKS] -= np.count_nonzero(_perfect(counts))
    return MeteorStatistics(total)


def _perfect(counts: NDArray[np.int64]) -> Flags:
    in_candidate = counts[:, MATCHED:CHUNKS:2].sum(axis=1)
    in_reference = counts[:, MATCHED + 1 : CHUNKS : 2].sum(axis=1)
    whole = (in_candidate == counts[:, LENGTH_1]) & (in_reference == counts[:, LENGTH_2])
    return np.asarray(whole & (counts[:, CHUNKS] == 1))


@compiled
def _best_references(
    lookup: Lookup, group_of: Ints, group_starts: Ints, weights: Floats
) -> NDArray[np.int64]:
    best = np.zeros((group_of.size, FIELDS), dtype=np.int64)
    longest = longest_reference = 1
    for text in range(lookup.starts.size - 1):
        length = lookup.starts[text + 1] - lookup.starts[text]
        if text < group_of.size:
            longest = max(longest, length)
        else:
            longest_reference = max(longest_reference, length)
    candidate = Candidate(
        np.full(lookup.is_function.size, -1, dtype=np.int32),
        np.empty(longest, dtype=np.int32),
        np.full(lookup.phrases.lengths.size, -1, dtype=np.int32),
        np.empty(longest * LONGEST, dtype=np.int32),
        np.empty(longest * LONGEST, dtype=np.int32),
        np.full(lookup.phrases.lengths.size, -1, dtype=np.int32),
        np.full(lookup.phrases.lengths.size, -1, dtype=np.int32),
    )
    work = workspace(longest, longest_reference)
    matches = np.empty((64, COLUMNS), dtype=np.int64)
    statistics = np.zeros(FIELDS, dtype=np.int64)
    for text in range(group_of.size):
        enter(lookup, candidate, text)
        highest = -1.0
        for reference in range(group_starts[group_of[text]], group_starts[group_of[text] + 1]):
            matches = align(lookup, candidate, work, text, reference, matches, statistics)
            score = _score(_terms(statistics, weights))
            if score > highest:
                highest = score
                for column in range(FIELDS):
                    best[text, column] = statistics[column]
        leave(lookup, candidate, text)
    return best


@compiled
def _scores(counts: NDArray[np.int64], weights: Floats) -> Floats:
    scores = np.empty(counts.shape[0])
    for row in range(counts.shape[0]):
        scores[row] = _score(_terms(counts[row], weights))
    return scores


class Terms(NamedTuple):
    """P, R, F and Pen of the module's formula; all 0 without a match."""

    precision: float
    recall: float
    mean: float
    penalty: float


@compiled
def _terms(counts: Ints, weights: Floats) -> Terms:
    weighted = np.zeros(2)
    matched = np.zeros(2)
    for kind in range(2):  # content words, then function words: the program's order of sums
        for stage in range(weights.size):
            for side in range(2):
                count = counts[MATCHED + PER_STAGE * stage + 2 * kind + side]
                weighted[side] += count * weights[stage] * (DELTA if kind == 0 else 1.0 - DELTA)
                matched[side] += count
    if weighted[0] == 0.0 or weighted[1] == 0.0:
        return Terms(0.0, 0.0, 0.0, 0.0)
    functions = (counts[FUNCTION_1], counts[FUNCTION_2])
    content = (counts[LENGTH_1] - functions[0], counts[LENGTH_2] - functions[1])
    precision = weighted[0] / (DELTA * content[0] + (1.0 - DELTA) * functions[0])
    recall = weighted[1] / (DELTA * content[1] + (1.0 - DELTA) * functions[1])
    mean = 1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall)
    whole = matched[0] == counts[LENGTH_1] and matched[1] == counts[LENGTH_2] and counts[CHUNKS] == 1
    fragments = 0.0 if whole else counts[CHUNKS] / ((matched[0] + matched[1]) / 2)
    return Terms(precision, recall, mean, GAMMA * fragments**BETA)


@compiled
def _score(terms: Terms) -> float:
    return terms.mean * (1.0 - terms.penalty)
