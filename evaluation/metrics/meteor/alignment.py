"""METEOR's alignment of a candidate with a reference, and its statistics.

Lavie, Denkowski 2009; Denkowski, Lavie 2011: every word is matched at most once; most words matched, then
fewest chunks, then the smallest sum of distances between the starts of matches. A match without competitors
is taken at once, the others are searched (see `search`).
"""

from evaluation.arrays import Ints
from evaluation.compiled import compiled
from evaluation.metrics.meteor.matching import (
    COLUMNS,
    IN_CANDIDATE,
    IN_REFERENCE,
    PLACE,
    STAGE,
    Candidate,
    Lookup,
    Matches,
    find_matches,
)
from evaluation.metrics.meteor.relations import EXACT
from evaluation.metrics.meteor.search import NONE, Pair, Workspace, search

# Columns of the statistics: words of candidate and reference, function words of each, four counts a stage (content
# words of candidate and reference, function words of each), chunks.
LENGTH_1, LENGTH_2, FUNCTION_1, FUNCTION_2, MATCHED = range(5)
PER_STAGE = 4
CHUNKS = MATCHED + 4 * PER_STAGE
FIELDS = CHUNKS + 1


@compiled
def align(
    lookup: Lookup,
    candidate: Candidate,
    work: Workspace,
    candidate_text: int,
    reference_text: int,
    matches: Matches,
    statistics: Ints,
) -> Matches:
    """Write the statistics (FIELDS,) of the best alignment of two texts.

    Return the matches' array, which may have grown.
    """
    begin_1, begin_2 = lookup.starts[candidate_text], lookup.starts[reference_text]
    length_1, length_2 = (
        lookup.starts[candidate_text + 1] - begin_1,
        lookup.starts[reference_text + 1] - begin_2,
    )
    pair = Pair(candidate_text, length_1, begin_2, begin_2 + length_2)
    for column in range(FIELDS):
        statistics[column] = 0
    statistics[LENGTH_1], statistics[LENGTH_2] = length_1, length_2
    for at in range(begin_1, begin_1 + length_1):
        statistics[FUNCTION_1] += lookup.is_function[lookup.words[at]]
    for at in range(begin_2, begin_2 + length_2):
        statistics[FUNCTION_2] += lookup.is_function[lookup.words[at]]
    if length_1 == length_2 and _equal(lookup, begin_1, begin_2, length_1):
        for side in range(2):
            functions = statistics[FUNCTION_1 + side]
            statistics[MATCHED + PER_STAGE * EXACT + side] = length_1 - functions
            statistics[MATCHED + PER_STAGE * EXACT + 2 + side] = functions
        statistics[CHUNKS] = min(length_1, 1)
        return matches
    first, is_open, matches = _take_only_choices(lookup, candidate, work, pair, matches)
    if is_open:
        matches = search(lookup, candidate, work, pair, matches, first)
    _count(lookup, begin_1, pair, work.chosen, statistics)
    return matches


@compiled
def _equal(lookup: Lookup, first: int, second: int, length: int) -> bool:
    equal = True
    for place in range(length):
        equal &= lookup.words[first + place] == lookup.words[second + place]
    return equal


@compiled
def _take_only_choices(
    lookup: Lookup,
    candidate: Candidate,
    work: Workspace,
    pair: Pair,
    matches: Matches,
) -> tuple[int, bool, Matches]:
    """Take the matches without competitors.

    Return the word from which on `matches` is filled, and whether any choice is left.
    """
    chosen, counts, taken, ends = work.chosen, work.counts, work.taken, work.ends
    cover_1, cover_2 = work.cover_1, work.cover_2
    length_2 = pair.end - pair.begin
    for place in range(pair.length):
        cover_1[place] = 0
    for place in range(length_2):
        cover_2[place] = 0
        taken[place] = False
    begin = place = 0
    while place < length_2:
        begin = place
        matches, upto = find_matches(
            lookup, candidate, pair.text, pair.begin + begin, pair.end, matches, ends
        )
        index = 0
        while place < upto - pair.begin:
            counts[place] = ends[place - begin] - index
            if counts[place] == 1:
                for column in range(COLUMNS):
                    chosen[place, column] = matches[index, column]
            while index < ends[place - begin]:
                first = matches[index, PLACE]
                for covered in range(first, first + matches[index, IN_CANDIDATE]):
                    cover_1[covered] += 1
                for covered in range(place, place + matches[index, IN_REFERENCE]):
                    cover_2[covered] += 1
                index += 1
            place += 1
    is_open = False
    for place in range(length_2):
        alone = counts[place] == 1
        if alone:
            first = chosen[place, PLACE]
            for covered in range(first, first + chosen[place, IN_CANDIDATE]):
                alone &= cover_1[covered] == 1
            for covered in range(place, place + chosen[place, IN_REFERENCE]):
                alone &= cover_2[covered] == 1
        if alone:
            for covered in range(place, place + chosen[place, IN_REFERENCE]):
                taken[covered] = True
        else:
            chosen[place, IN_CANDIDATE] = chosen[place, IN_REFERENCE] = 0
            is_open |= counts[place] > 0
    return begin, is_open, matches


@compiled
def _count(lookup: Lookup, begin_1: int, pair: Pair, chosen: Matches, statistics: Ints) -> None:
    """Count matches by stage and kind of word, and chunks; `begin_1` is the candidate's first word."""
    is_function = lookup.is_function
    place, open_end = 0, NONE
    while place < pair.end - pair.begin:
        match = chosen[place]
        if match[IN_REFERENCE] == 0:
            statistics[CHUNKS] += open_end != NONE
            open_end = NONE
            place += 1
            continue
        column = MATCHED + PER_STAGE * match[STAGE]
        for at in range(begin_1 + match[PLACE], begin_1 + match[PLACE] + match[IN_CANDIDATE]):
            statistics[column + 2 * is_function[lookup.words[at]]] += 1
        for at in range(pair.begin + place, pair.begin + place + match[IN_REFERENCE]):
            statistics[column + 1 + 2 * is_function[lookup.words[at]]] += 1
        statistics[CHUNKS] += open_end != NONE and open_end != match[PLACE]
        open_end = match[PLACE] + match[IN_CANDIDATE]
        place += match[IN_REFERENCE]
    statistics[CHUNKS] += open_end != NONE
