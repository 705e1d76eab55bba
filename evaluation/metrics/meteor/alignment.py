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
NONE = -1  # no chunk is open; a word is left unmatched
CARRIED = -2  # a partial alignment that already covers the word

# Columns of a partial alignment: words matched on both sides as the search weighs them, closed chunks, sum of
# distances, the word of the reference that comes next, where the open chunk ends in the candidate, its last choice.
TOTAL, CHUNKS_SO_FAR, DISTANCE, NEXT, OPEN, CHOICE = range(6)
STATE = 6

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
    chosen = np.empty((length_2, COLUMNS), dtype=np.int64)
    counts, used, taken, matches = _only_choices(
        lookup, candidate, ours, begin_2, length_1, length_2, chosen, matches
    )
    matches = _search(lookup, candidate, ours, begin_2, counts, used, taken, chosen, matches)
    _count(lookup, begin_1, begin_2, is_function, chosen, statistics)
    return matches


@compiled
def _equal(lookup: Lookup, first: int, second: int, length: int) -> bool:
    equal = True
    for place in range(length):
        equal &= lookup.words[first + place] == lookup.words[second + place]
    return equal


@compiled
def _only_choices(
    lookup: Lookup,
    candidate: Candidate,
    ours: int,
    begin: int,
    length_1: int,
    length_2: int,
    chosen: Matches,
    matches: Matches,
) -> tuple[Ints, Flags, Flags, Matches]:
    """Take the matches that no other one competes with.

    Row j of `chosen` becomes the match taken at word j of the reference, or one of no words. Returns how many
    matches begin at each word, and which words of the candidate and of the reference are taken.
    """
    counts = np.zeros(length_2, dtype=np.int64)
    cover_1 = np.zeros(length_1, dtype=np.int64)
    cover_2 = np.zeros(length_2, dtype=np.int64)
    for place in range(length_2):
        matches, count = matches_at(lookup, candidate, ours, begin + place, begin + length_2, matches)
        counts[place] = count
        for index in range(count):
            first = matches[index, PLACE]
            for covered in range(first, first + matches[index, OURS]):
                cover_1[covered] += 1
            for covered in range(place, place + matches[index, THEIRS]):
                cover_2[covered] += 1
        if count == 1:
            for column in range(COLUMNS):
                chosen[place, column] = matches[0, column]
    used = np.zeros(length_1, dtype=np.bool_)
    taken = np.zeros(length_2, dtype=np.bool_)
    for place in range(length_2):
        alone = counts[place] == 1
        if alone:
            first = chosen[place, PLACE]
            for covered in range(first, first + chosen[place, OURS]):
                alone &= cover_1[covered] == 1
            for covered in range(place, place + chosen[place, THEIRS]):
                alone &= cover_2[covered] == 1
        if not alone:
            chosen[place, OURS] = chosen[place, THEIRS] = 0
        else:
            for covered in range(first, first + chosen[place, OURS]):
                used[covered] = True
            for covered in range(place, place + chosen[place, THEIRS]):
                taken[covered] = True
    return counts, used, taken, matches


@compiled
def _search(
    lookup: Lookup,
    candidate: Candidate,
    ours: int,
    begin: int,
    counts: Ints,
    used_at_first: Flags,
    taken: Flags,
    chosen: Matches,
    matches: Matches,
) -> Matches:
    """Complete `chosen` by the beam search."""
    length_1, length_2 = used_at_first.size, counts.size
    # Each step reads the partial alignments of one half and writes those of the other.
    states = np.zeros((2, BEAM, STATE), dtype=np.int64)
    used = np.zeros((2, BEAM, length_1), dtype=np.bool_)
    offers = np.zeros((BEAM, 5), dtype=np.int64)
    choices = np.empty((16, COLUMNS + 2), dtype=np.int64)
    made = 0
    used[0, 0] = used_at_first
    states[0, 0, OPEN] = states[0, 0, CHOICE] = NONE
    half, live = 0, 1
    for place in range(length_2):
        now = states[half]
        _sort(now, used[half], live)
        if taken[place] or counts[place] == 0:
            for path in range(live):
                if now[path, NEXT] == place:
                    _step(now[path], chosen[place], place)
            continue
        matches, count = matches_at(lookup, candidate, ours, begin + place, begin + length_2, matches)
        put_in_order(matches, count)
        kept = 0
        for path in range(live):
            kept = _offer_choices(
                now[path], used[half, path], path, place, matches, count, taken, offers, kept
            )
        then = states[1 - half]
        for rank in range(kept):
            path, index = offers[rank, 3], offers[rank, 4]
            then[rank] = now[path]
            used[1 - half, rank] = used[half, path]
            then[rank, TOTAL : DISTANCE + 1] = offers[rank, :3]
            if index == NONE:
                then[rank, NEXT] += 1
                then[rank, OPEN] = NONE
            elif index >= 0:
                first, end = matches[index, PLACE], matches[index, PLACE] + matches[index, OURS]
                then[rank, NEXT] = place + matches[index, THEIRS]
                then[rank, OPEN] = end
                used[1 - half, rank, first:end] = True
                if made == choices.shape[0]:
                    larger = np.empty((2 * made, COLUMNS + 2), dtype=np.int64)
                    larger[:made] = choices
                    choices = larger
                choices[made, :COLUMNS] = matches[index]
                choices[made, COLUMNS] = place
                choices[made, COLUMNS + 1] = then[rank, CHOICE]
                then[rank, CHOICE] = made
                made += 1
        half, live = 1 - half, kept
    choice = _best(states[half], used[half], live)
    while choice != NONE:
        chosen[choices[choice, COLUMNS]] = choices[choice, :COLUMNS]
        choice = choices[choice, COLUMNS + 1]
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
    state: Ints,
    used: Flags,
    path: int,
    place: int,
    matches: Matches,
    count: int,
    taken: Flags,
    offers: Ints,
    kept: int,
) -> int:
    """Offer everything that a partial alignment may do with a word; returns how many offers are kept now."""
    total, chunks, distance = state[TOTAL], state[CHUNKS_SO_FAR], state[DISTANCE]
    if state[NEXT] > place:
        return _offer(offers, kept, total, chunks, distance, path, CARRIED)
    for index in range(count):
        first = matches[index, PLACE]
        free = True
        for covered in range(first, first + matches[index, OURS]):
            free &= not used[covered]
        for covered in range(place, place + matches[index, THEIRS]):
            free &= not taken[covered]
        if free:
            broken = state[OPEN] != NONE and state[OPEN] != first
            kept = _offer(
                offers, kept, total + _worth(matches[index]), chunks + broken, distance, path, index
            )
            distance += abs(place - first)
    return _offer(offers, kept, total, chunks + (state[OPEN] != NONE), distance, path, NONE)


@compiled
def _offer(offers: Ints, kept: int, total: int, chunks: int, distance: int, path: int, index: int) -> int:
    """Keep an offer (total, chunks, distance, path, match) if it is among the best; of equal ones the first."""
    rank = kept
    while rank > 0 and (
        total > offers[rank - 1, 0]
        or (
            total == offers[rank - 1, 0]
            and (
                chunks < offers[rank - 1, 1]
                or (chunks == offers[rank - 1, 1] and distance < offers[rank - 1, 2])
            )
        )
    ):
        rank -= 1
    if rank == BEAM:
        return kept
    for later in range(min(kept, BEAM - 1), rank, -1):
        for column in range(5):
            offers[later, column] = offers[later - 1, column]
    offers[rank, 0] = total
    offers[rank, 1] = chunks
    offers[rank, 2] = distance
    offers[rank, 3] = path
    offers[rank, 4] = index
    return min(kept + 1, BEAM)


@compiled
def _sort(states: Ints, used: NDArray[np.bool_], live: int) -> None:
    """Put partial alignments in order, the best first; equal ones stay as they are."""
    for index in range(1, live):
        at = index
        while at > 0 and _is_better(states[at], states[at - 1]):
            for column in range(STATE):
                held = states[at, column]
                states[at, column] = states[at - 1, column]
                states[at - 1, column] = held
            for column in range(used.shape[1]):
                flag = used[at, column]
                used[at, column] = used[at - 1, column]
                used[at - 1, column] = flag
            at -= 1


@compiled
def _is_better(one: Ints, other: Ints) -> bool:
    if one[TOTAL] != other[TOTAL]:
        return one[TOTAL] > other[TOTAL]
    if one[CHUNKS_SO_FAR] != other[CHUNKS_SO_FAR]:
        return one[CHUNKS_SO_FAR] < other[CHUNKS_SO_FAR]
    return one[DISTANCE] < other[DISTANCE]


@compiled
def _best(states: Ints, used: NDArray[np.bool_], live: int) -> int:
    """The last choice of the best complete alignment."""
    _sort(states, used, live)
    for path in range(live):
        states[path, CHUNKS_SO_FAR] += states[path, OPEN] != NONE
    _sort(states, used, live)
    return states[0, CHOICE]


@compiled
def _count(
    lookup: Lookup, begin_1: int, begin_2: int, is_function: Flags, chosen: Matches, statistics: Ints
) -> None:
    """Count matches by stage and kind of word, and chunks."""
    place, open_end = 0, NONE
    while place < chosen.shape[0]:
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
