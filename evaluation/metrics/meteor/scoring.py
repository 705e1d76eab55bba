"""METEOR 1.5 (Denkowski and Lavie 2014; V15 eq. 16-20): statistics of the best reference, and scores.

With matches weighted by their stage, content words by delta and function words by 1 - delta:

    F = P R / (alpha P + (1 - alpha) R),  Pen = gamma (chunks / matches) ^ beta,  METEOR = (1 - Pen) F

Parameters and weights are those of the official release for English, made for ranking.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.compiled import compiled
from evaluation.metrics.comparison import Comparison, View
from evaluation.metrics.corpus import Flags, Floats, Ints
from evaluation.metrics.errors import InvalidInput
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
)
from evaluation.metrics.meteor.matching import COLUMNS, Candidate, Lookup, enter, leave
from evaluation.metrics.meteor.normalising import normalised
from evaluation.metrics.meteor.paraphrases import LONGEST
from evaluation.metrics.meteor.phrases import no_phrases, phrases_in
from evaluation.metrics.meteor.places import DATA
from evaluation.metrics.meteor.relations import ALL, PARAPHRASE, STAGE_CHOICES, STAGES, SYNONYM, relations
from evaluation.metrics.meteor.search import workspace
from evaluation.metrics.meteor.tables import Tables

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
ENOUGH = 500_000  # matches held at once
WEIGHTS = (1.0, 0.6, 0.8, 0.6)  # by stage


@dataclass(frozen=True, slots=True)
class MeteorStatistics:
    """What METEOR is computed from, summed over captions for a corpus figure.

    `counts` (n, 21) int64, a row a candidate beside its best reference: words of candidate and reference,
    function words of each; for each stage content words matched of candidate and reference, function words of
    each; chunks.
    """

    counts: NDArray[np.int64]


def stages_named(name: str, tables: Tables) -> int:
    """How many stages one of STAGE_CHOICES asks for; ALL asks for those that the tables have data for.

    Raises InvalidInput when they have none for a stage that was asked for.
    """
    known = len(STAGES)
    if tables.synonyms is None:
        known = SYNONYM
    elif tables.paraphrases is None:
        known = PARAPHRASE
    asked = known if name == ALL else STAGE_CHOICES.index(name) + 1
    if asked > known:
        raise InvalidInput(
            f"METEOR's {STAGES[known]} stage needs tables that were not found; install requirements-meteor.txt "
            f"or point {DATA} to the program"
        )
    return asked


def meteor_statistics(
    comparison: Comparison, view: View, tables: Tables, stages: int, enough: int = ENOUGH
) -> MeteorStatistics:
    """Align every candidate with its references by the first `stages` stages, and keep the best reference.

    Of references with equal scores the first is kept. Of two long texts only about `enough` matches are held at
    once; the others are found a second time.
    """
    words = comparison.once(
        ("meteor", view, tables.digest), lambda: normalised(comparison.words(view), tables.abbreviations)
    )
    related = relations(words.vocabulary, stages, tables.synonyms)
    phrases = no_phrases()
    if stages > PARAPHRASE and tables.paraphrases is not None:
        phrases = phrases_in(words, tables.paraphrases)
    lookup = Lookup(words.words, words.starts, related, phrases)
    is_function = np.array([word in tables.function_words for word in words.vocabulary], dtype=np.bool_)
    return MeteorStatistics(
        _best_references(
            lookup, comparison.group_of, comparison.group_starts, is_function, np.array(WEIGHTS), enough
        )
    )


def meteor_scores(statistics: MeteorStatistics) -> Floats:
    """(n,) float64: METEOR of every row of the statistics."""
    return _scores(statistics.counts, np.array(WEIGHTS))


def pooled(statistics: MeteorStatistics) -> MeteorStatistics:
    """The statistics of the whole corpus as those of one caption.

    The chunk of a caption that matches its reference word by word is not counted, as it costs nothing there.
    """
    counts = statistics.counts
    total = counts.sum(axis=0, keepdims=True)
    total[0, CHUNKS] -= np.count_nonzero(_perfect(counts))
    return MeteorStatistics(total)


def _perfect(counts: NDArray[np.int64]) -> Flags:
    """(n,) bool: rows of captions that are matched as a whole, in one chunk."""
    ours = counts[:, MATCHED:CHUNKS:2].sum(axis=1)
    theirs = counts[:, MATCHED + 1 : CHUNKS : 2].sum(axis=1)
    whole = (ours == counts[:, LENGTH_1]) & (theirs == counts[:, LENGTH_2])
    return np.asarray(whole & (counts[:, CHUNKS] == 1))


@compiled
def _best_references(
    lookup: Lookup, group_of: Ints, group_starts: Ints, is_function: Flags, weights: Floats, enough: int
) -> NDArray[np.int64]:
    """(n, FIELDS) int64: the statistics of every candidate beside its best reference."""
    best = np.zeros((group_of.size, FIELDS), dtype=np.int64)
    longest = longest_reference = 1
    for text in range(lookup.starts.size - 1):
        length = lookup.starts[text + 1] - lookup.starts[text]
        if text < group_of.size:
            longest = max(longest, length)
        else:
            longest_reference = max(longest_reference, length)
    candidate = Candidate(
        np.full(is_function.size, -1, dtype=np.int32),
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
            matches = align(
                lookup, candidate, work, text, reference, is_function, matches, enough, statistics
            )
            score = _score(statistics, weights)
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
        scores[row] = _score(counts[row], weights)
    return scores


@compiled
def _score(counts: Ints, weights: Floats) -> float:
    """METEOR from one row of statistics; 0 where nothing matches."""
    weighted = np.zeros(2)
    matched = np.zeros(2)
    for kind in range(2):  # content words, then function words: the program's order of sums
        for stage in range(weights.size):
            for side in range(2):
                count = counts[MATCHED + PER_STAGE * stage + 2 * kind + side]
                weighted[side] += count * weights[stage] * (DELTA if kind == 0 else 1.0 - DELTA)
                matched[side] += count
    if weighted[0] == 0.0 or weighted[1] == 0.0:
        return 0.0
    functions = (counts[FUNCTION_1], counts[FUNCTION_2])
    content = (counts[LENGTH_1] - functions[0], counts[LENGTH_2] - functions[1])
    precision = weighted[0] / (DELTA * content[0] + (1.0 - DELTA) * functions[0])
    recall = weighted[1] / (DELTA * content[1] + (1.0 - DELTA) * functions[1])
    mean = 1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall)
    whole = matched[0] == counts[LENGTH_1] and matched[1] == counts[LENGTH_2] and counts[CHUNKS] == 1
    fragments = 0.0 if whole else counts[CHUNKS] / ((matched[0] + matched[1]) / 2)
    return mean * (1.0 - GAMMA * fragments**BETA)
