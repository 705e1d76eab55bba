"""METEOR's alignment of a candidate with a reference, as the official program searches for it.

Lavie and Denkowski 2009 and Denkowski and Lavie 2011 define it: every word is matched at most once; most words
matched, then fewest chunks, then the smallest sum of distances between the starts of matches. The search goes
through the reference from left to right and keeps the `BEAM` best partial alignments. Four habits of the
program decide which alignment comes out, and are kept:

- A match that is the only one for all words it covers is taken before the search begins.
- A match of n words counts n on each side in the exact stage, and n / 2 rounded down in the others, so that a
  single stem or synonym counts nothing and is taken only where it costs no chunk or distance.
- What a choice adds to the distance is charged to the choices at the same place that come after it, the choice
  to leave the word unmatched among them, and not to itself.
- A candidate that equals the reference is matched word by word.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.compiled import compiled
from evaluation.metrics.corpus import Flags, Ints
from evaluation.metrics.meteor.matching import (
    COLUMNS,
    OURS,
    PLACE,
    STAGE,
    THEIRS,
    Candidate,
    Lookup,
    Matches,
    matches_at,
    put_in_order,
)
from evaluation.metrics.meteor.relations import EXACT

BEAM = 40
NONE = -1  # no chunk is open; a word is left unmatched; there was no choice yet
CARRIED = -2  # a partial alignment that already covers the word

# Columns of a partial alignment: words matched on both sides as the search weighs them, closed chunks, sum of
# distances, the word of the reference that comes next, where the open chunk ends in the candidate, its last choice,
# and from there on which words of the candidate are used, a bit a word.
TOTAL, CHUNKS_SO_FAR, DISTANCE, NEXT, OPEN, CHOICE, USED = range(7)
LIMB = 62  # bits of a number

# Columns of an offer, a partial alignment that the next step may go on with: the first three of a partial alignment,
# the one it comes from, and the match it adds.
PATH, MATCH = 3, 4
OFFER = 5

# Columns of a choice, behind those of a match: the word of the reference, the choice before it.
WHERE, BEFORE = COLUMNS, COLUMNS + 1

# Columns of the statistics: words of candidate and reference, function words of each, four counts a stage (content
# words of candidate and reference, function words of each), chunks.
LENGTH_1, LENGTH_2, FUNCTION_1, FUNCTION_2, MATCHED = range(5)
PER_STAGE = 4
CHUNKS = MATCHED + 4 * PER_STAGE
FIELDS = CHUNKS + 1


class Workspace(NamedTuple):
    """Arrays that every alignment uses anew.

    `chosen` (longest reference, COLUMNS): the match taken at each word of the reference, or one of no words;
    `counts`, `taken` (longest reference,): how many matches begin at each word, and whether a match that was taken
    before the search covers it; `cover_1`, `cover_2`: how many matches cover each word of either side; `states`
    (2, BEAM, USED + ...): the partial alignments of this step and of the next; `offers` (BEAM, OFFER) and `ranks`
    (BEAM,): the best offers, and their rows from best to worst; `choices` (..., COLUMNS + 2).
    """

    chosen: Matches
    counts: Ints
    taken: Flags
    cover_1: Ints
    cover_2: Ints
    states: NDArray[np.int64]
    offers: NDArray[np.int64]
    ranks: Ints
    choices: NDArray[np.int64]


@compiled
def workspace(longest_1: int, longest_2: int) -> Workspace:
    """Arrays for candidates and references of up to so many words."""
    limbs = (longest_1 + LIMB - 1) // LIMB
    return Workspace(
        np.zeros((longest_2, COLUMNS), dtype=np.int64),
        np.zeros(longest_2, dtype=np.int64),
        np.zeros(longest_2, dtype=np.bool_),
        np.zeros(longest_1, dtype=np.int64),
        np.zeros(longest_2, dtype=np.int64),
        np.zeros((2, BEAM, USED + limbs), dtype=np.int64),
        np.zeros((BEAM, OFFER), dtype=np.int64),
        np.zeros(BEAM, dtype=np.int64),
        np.zeros((BEAM * longest_2, COLUMNS + 2), dtype=np.int64),
    )


@compiled
def align(
    lookup: Lookup,
    candidate: Candidate,
    work: Workspace,
    ours: int,
    theirs: int,
    is_function: Flags,
    matches: Matches,
    statistics: Ints,
) -> Matches:
    """Write the statistics (FIELDS,) of the best alignment of text `ours`, a candidate, with text `theirs`.

    Returns the array for matches, which may have grown.
    """
    begin_1, begin_2 = lookup.starts[ours], lookup.starts[theirs]
    length_1, length_2 = lookup.starts[ours + 1] - begin_1, lookup.starts[theirs + 1] - begin_2
    statistics[:] = 0
    statistics[LENGTH_1], statistics[LENGTH_2] = length_1, length_2
    for at in range(begin_1, begin_1 + length_1):
        statistics[FUNCTION_1] += is_function[lookup.words[at]]
    for at in range(begin_2, begin_2 + length_2):
        statistics[FUNCTION_2] += is_function[lookup.words[at]]
    if length_1 == length_2 and _equal(lookup, begin_1, begin_2, length_1):
        for side in range(2):
            functions = statistics[FUNCTION_1 + side]
            statistics[MATCHED + PER_STAGE * EXACT + side] = length_1 - functions
            statistics[MATCHED + PER_STAGE * EXACT + 2 + side] = functions
        statistics[CHUNKS] = min(length_1, 1)
        return matches
    is_open, matches = _take_only_choices(lookup, candidate, work, ours, begin_2, length_1, length_2, matches)
    if is_open:
        matches = _search(lookup, candidate, work, ours, begin_2, length_1, length_2, matches)
    _count(lookup, begin_1, begin_2, length_2, is_function, work.chosen, statistics)
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
    ours: int,
    begin: int,
    length_1: int,
    length_2: int,
    matches: Matches,
) -> tuple[bool, Matches]:
    """Take the matches that no other one competes with; returns whether any others are left to choose from."""
    chosen, counts = work.chosen, work.counts
    work.taken[:length_2] = False
    work.cover_1[:length_1] = 0
    work.cover_2[:length_2] = 0
    for place in range(length_2):
        matches, count = matches_at(lookup, candidate, ours, begin + place, begin + length_2, matches)
        counts[place] = count
        for index in range(count):
            first = matches[index, PLACE]
            for covered in range(first, first + matches[index, OURS]):
                work.cover_1[covered] += 1
            for covered in range(place, place + matches[index, THEIRS]):
                work.cover_2[covered] += 1
        if count == 1:
            for column in range(COLUMNS):
                chosen[place, column] = matches[0, column]
    is_open = False
    for place in range(length_2):
        alone = counts[place] == 1
        if alone:
            first = chosen[place, PLACE]
            for covered in range(first, first + chosen[place, OURS]):
                alone &= work.cover_1[covered] == 1
            for covered in range(place, place + chosen[place, THEIRS]):
                alone &= work.cover_2[covered] == 1
        if alone:
            for covered in range(place, place + chosen[place, THEIRS]):
                work.taken[covered] = True
        else:
            chosen[place, OURS] = chosen[place, THEIRS] = 0
            is_open |= counts[place] > 0
    return is_open, matches


@compiled
def _search(
    lookup: Lookup,
    candidate: Candidate,
    work: Workspace,
    ours: int,
    begin: int,
    length_1: int,
    length_2: int,
    matches: Matches,
) -> Matches:
    """Complete what is chosen by the beam search."""
    width = USED + (length_1 + LIMB - 1) // LIMB
    made = 0
    half, live = 0, 1
    first = work.states[0, 0]
    first[:width] = 0
    first[OPEN] = first[CHOICE] = NONE
    for place in range(length_2):
        for covered in range(work.chosen[place, PLACE], work.chosen[place, PLACE] + work.chosen[place, OURS]):
            first[USED + covered // LIMB] |= np.int64(1) << (covered % LIMB)
    for place in range(length_2):
        now, then = work.states[half], work.states[1 - half]
        _sort(now, live, width)
        if work.taken[place] or work.counts[place] == 0:
            for path in range(live):
                if now[path, NEXT] == place:
                    _step(now[path], work.chosen[place], place)
            continue
        matches, count = matches_at(lookup, candidate, ours, begin + place, begin + length_2, matches)
        put_in_order(matches, count)
        kept = 0
        for path in range(live):
            kept = _offer_choices(now[path], path, place, matches, count, work, kept)
        for rank in range(kept):
            offer, state = work.offers[work.ranks[rank]], then[rank]
            path, index = offer[PATH], offer[MATCH]
            for column in range(width):
                state[column] = now[path, column]
            for column in range(DISTANCE + 1):
                state[column] = offer[column]
            if index == NONE:
                state[NEXT] += 1
                state[OPEN] = NONE
            elif index != CARRIED:
                start, end = matches[index, PLACE], matches[index, PLACE] + matches[index, OURS]
                state[NEXT] = place + matches[index, THEIRS]
                state[OPEN] = end
                for covered in range(start, end):
                    state[USED + covered // LIMB] |= np.int64(1) << (covered % LIMB)
                for column in range(COLUMNS):
                    work.choices[made, column] = matches[index, column]
                work.choices[made, WHERE] = place
                work.choices[made, BEFORE] = state[CHOICE]
                state[CHOICE] = made
                made += 1
        half, live = 1 - half, kept
    choice = _last_choice_of_best(work.states[half], live, width)
    while choice != NONE:
        for column in range(COLUMNS):
            work.chosen[work.choices[choice, WHERE], column] = work.choices[choice, column]
        choice = work.choices[choice, BEFORE]
    return matches


@compiled
def _step(state: Ints, match: Ints, place: int) -> None:
    """Go past a word that has no choice: a match that was taken before, or no match."""
    if match[THEIRS] == 0:
        if state[OPEN] != NONE:
            state[CHUNKS_SO_FAR] += 1
        state[OPEN] = NONE
        state[NEXT] += 1
        return
    state[TOTAL] += _worth(match)
    if state[OPEN] != NONE and state[OPEN] != match[PLACE]:
        state[CHUNKS_SO_FAR] += 1
    state[DISTANCE] += abs(place - match[PLACE])
    state[NEXT] = place + match[THEIRS]
    state[OPEN] = match[PLACE] + match[OURS]


@compiled
def _worth(match: Ints) -> int:
    """What a match counts in the search."""
    if match[STAGE] == EXACT:
        return match[OURS] + match[THEIRS]
    return match[OURS] // 2 + match[THEIRS] // 2


@compiled
def _offer_choices(
    state: Ints, path: int, place: int, matches: Matches, count: int, work: Workspace, kept: int
) -> int:
    """Offer everything that a partial alignment may do with a word; returns how many offers are kept now."""
    total, chunks, distance = state[TOTAL], state[CHUNKS_SO_FAR], state[DISTANCE]
    if state[NEXT] > place:
        return _offer(work, kept, total, chunks, distance, path, CARRIED)
    for index in range(count):
        first = matches[index, PLACE]
        is_free = True
        for covered in range(first, first + matches[index, OURS]):
            is_free &= (state[USED + covered // LIMB] >> (covered % LIMB)) & 1 == 0
        for covered in range(place, place + matches[index, THEIRS]):
            is_free &= not work.taken[covered]
        if is_free:
            broken = state[OPEN] != NONE and state[OPEN] != first
            worth = _worth(matches[index])
            kept = _offer(work, kept, total + worth, chunks + broken, distance, path, index)
            distance += abs(place - first)
    return _offer(work, kept, total, chunks + (state[OPEN] != NONE), distance, path, NONE)


@compiled
def _offer(work: Workspace, kept: int, total: int, chunks: int, distance: int, path: int, index: int) -> int:
    """Keep an offer if it is among the best, of equal ones the first; returns how many are kept."""
    offers, ranks = work.offers, work.ranks
    rank = kept
    while rank > 0:
        other = offers[ranks[rank - 1]]
        if total < other[TOTAL]:
            break
        if total == other[TOTAL]:
            if chunks > other[CHUNKS_SO_FAR]:
                break
            if chunks == other[CHUNKS_SO_FAR] and distance >= other[DISTANCE]:
                break
        rank -= 1
    if rank == BEAM:
        return kept
    row = kept
    if kept == BEAM:
        row = ranks[BEAM - 1]
        kept -= 1
    for later in range(kept, rank, -1):
        ranks[later] = ranks[later - 1]
    ranks[rank] = row
    offers[row, TOTAL] = total
    offers[row, CHUNKS_SO_FAR] = chunks
    offers[row, DISTANCE] = distance
    offers[row, PATH] = path
    offers[row, MATCH] = index
    return kept + 1


@compiled
def _sort(states: NDArray[np.int64], live: int, width: int) -> None:
    """Put partial alignments in order, the best first; equal ones stay as they are."""
    for index in range(1, live):
        at = index
        while at > 0 and _is_better(states[at], states[at - 1]):
            for column in range(width):
                held = states[at, column]
                states[at, column] = states[at - 1, column]
                states[at - 1, column] = held
            at -= 1


@compiled
def _is_better(one: Ints, other: Ints) -> bool:
    if one[TOTAL] != other[TOTAL]:
        return one[TOTAL] > other[TOTAL]
    if one[CHUNKS_SO_FAR] != other[CHUNKS_SO_FAR]:
        return one[CHUNKS_SO_FAR] < other[CHUNKS_SO_FAR]
    return one[DISTANCE] < other[DISTANCE]


@compiled
def _last_choice_of_best(states: NDArray[np.int64], live: int, width: int) -> int:
    """The last choice of the best alignment, once all chunks are closed."""
    _sort(states, live, width)
    for path in range(live):
        states[path, CHUNKS_SO_FAR] += states[path, OPEN] != NONE
    _sort(states, live, width)
    return states[0, CHOICE]


@compiled
def _count(
    lookup: Lookup,
    begin_1: int,
    begin_2: int,
    length_2: int,
    is_function: Flags,
    chosen: Matches,
    statistics: Ints,
) -> None:
    """Count matches by stage and kind of word, and chunks."""
    place, open_end = 0, NONE
    while place < length_2:
        match = chosen[place]
        if match[THEIRS] == 0:
            statistics[CHUNKS] += open_end != NONE
            open_end = NONE
            place += 1
            continue
        column = MATCHED + PER_STAGE * match[STAGE]
        for at in range(begin_1 + match[PLACE], begin_1 + match[PLACE] + match[OURS]):
            statistics[column + 2 * is_function[lookup.words[at]]] += 1
        for at in range(begin_2 + place, begin_2 + place + match[THEIRS]):
            statistics[column + 1 + 2 * is_function[lookup.words[at]]] += 1
        statistics[CHUNKS] += open_end != NONE and open_end != match[PLACE]
        open_end = match[PLACE] + match[OURS]
        place += match[THEIRS]
    statistics[CHUNKS] += open_end != NONE
