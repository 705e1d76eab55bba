"""The beam search for METEOR's best alignment.

The search goes through the reference from left to right and keeps the `BEAM` best partial alignments. Of equally good
ones, it keeps the first. Two rules are those of the official program:

- A match of n words counts n on each side in the exact stage, and n / 2 rounded down in the others, so that a single
  stem or synonym is taken only if it costs no chunk and no distance.
- The distance of a choice is not added to that choice, but to the later choices at the same word. One of these choices
  is to leave the word unmatched.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorum.metrics.meteor.matches import (
    COLUMNS,
    IN_CANDIDATE,
    IN_REFERENCE,
    POSITION,
    STAGE,
    CandidateWords,
    Lookup,
    Matches,
    find_matches,
)
from quorum.metrics.meteor.relations import EXACT
from quorum.numeric.arrays import Flags, Ints
from quorum.numeric.compiling import compiled

BEAM = 40  # partial alignments kept, as in the official program
NONE = -1  # no open chunk; no match for a word; no earlier choice
CARRIED_ALIGNMENT = -2  # a partial alignment that already covers the word

# Columns of a partial alignment: matched words of both sides as the search weights them, closed chunks, sum of
# distances, the next word of the reference, the end of the open chunk in the candidate, the last choice, and in all
# further columns one bit for each word of the candidate: whether it is used.
TOTAL, CHUNKS_SO_FAR, DISTANCE, NEXT, OPEN, CHOICE, USED = range(7)
BITS_PER_NUMBER = 62  # bits used of a 64-bit number

# Columns of an offer, a candidate for the next step's partial alignments: the first three columns of a partial
# alignment, the row of the partial alignment that it extends, and the match that it adds.
PATH, MATCH = 3, 4
OFFER = 5

# Columns of a choice, after those of a match: the word of the reference, the previous choice.
WHERE, BEFORE = COLUMNS, COLUMNS + 1


class AlignedTexts(NamedTuple):
    """Two texts to align: the number and length of the candidate's text, and the bounds of the reference's words."""

    text: int
    length: int
    begin: int
    end: int


class Workspace(NamedTuple):
    """Arrays that every alignment reuses.

    For each word of the reference: chosen (longest, COLUMNS) has the match taken, or a match of no words. ends and
    counts locate the matches that begin at the word. taken says whether a match taken before the search covers the
    word.

    cover_1, cover_2: number of matches that cover each word of candidate and reference. states: (2, BEAM, USED +
    limbs) partial alignments of this step and the next. offers: (BEAM, OFFER) the best offers. ranks: (BEAM,) their
    order.
    """

    chosen: Matches
    ends: Ints
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
    limbs = (longest_1 + BITS_PER_NUMBER - 1) // BITS_PER_NUMBER
    return Workspace(
        np.zeros((longest_2, COLUMNS), dtype=np.int64),
        np.zeros(longest_2, dtype=np.int64),
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
def search(
    lookup: Lookup,
    candidate: CandidateWords,
    work: Workspace,
    pair: AlignedTexts,
    matches: Matches,
    first: int,
) -> Matches:
    """Choose among the matches that remain. `matches` holds the matches of the reference's words from `first` on.

    Return the array of matches, which is a new one if it was full.
    """
    chosen, ends, taken, counts = work.chosen, work.ends, work.taken, work.counts
    offers, ranks, choices = work.offers, work.ranks, work.choices
    length_2 = pair.end - pair.begin
    width = USED + (pair.length + BITS_PER_NUMBER - 1) // BITS_PER_NUMBER
    now, then = work.states[0], work.states[1]
    for column in range(width):
        now[0, column] = 0
    now[0, OPEN] = now[0, CHOICE] = NONE
    # Mark the candidate's words that the matches taken before the search cover.
    for position in range(length_2):
        for covered in range(
            chosen[position, POSITION], chosen[position, POSITION] + chosen[position, IN_CANDIDATE]
        ):
            now[0, USED + covered // BITS_PER_NUMBER] |= np.int64(1) << (covered % BITS_PER_NUMBER)
    live, choice_count, upto = 1, 0, length_2
    for position in range(length_2):
        _sort(now, live, width)
        if taken[position] or counts[position] == 0:
            _step(now, live, chosen, position)
            continue
        # Find further matches where `matches` ends.
        if not first <= position < upto:
            first = position
            matches, upto = find_matches(
                lookup, candidate, pair.text, pair.begin + first, pair.end, matches, ends
            )
            upto -= pair.begin
        end = ends[position - first]
        offered = _offer_choices(work, now, live, position, matches, end - counts[position], end)
        # Extend each path by its offer: no match, a match that still covers this word, or a new match.
        for rank in range(offered):
            path, index = offers[ranks[rank], PATH], offers[ranks[rank], MATCH]
            for column in range(DISTANCE + 1):
                then[rank, column] = offers[ranks[rank], column]
            for column in range(DISTANCE + 1, width):
                then[rank, column] = now[path, column]
            if index == NONE:
                then[rank, NEXT] += 1
                then[rank, OPEN] = NONE
            elif index != CARRIED_ALIGNMENT:
                last = matches[index, POSITION] + matches[index, IN_CANDIDATE]
                then[rank, NEXT] = position + matches[index, IN_REFERENCE]
                then[rank, OPEN] = last
                for covered in range(matches[index, POSITION], last):
                    then[rank, USED + covered // BITS_PER_NUMBER] |= np.int64(1) << (
                        covered % BITS_PER_NUMBER
                    )
                for column in range(COLUMNS):
                    choices[choice_count, column] = matches[index, column]
                choices[choice_count, WHERE] = position
                choices[choice_count, BEFORE] = then[rank, CHOICE]
                then[rank, CHOICE] = choice_count
                choice_count += 1
        now, then, live = then, now, offered
    # Follow the best path back, and take its matches.
    choice = _last_choice_of_best(now, live, width)
    while choice != NONE:
        for column in range(COLUMNS):
            chosen[choices[choice, WHERE], column] = choices[choice, column]
        choice = choices[choice, BEFORE]
    return matches


@compiled
def _step(states: NDArray[np.int64], live: int, chosen: Matches, position: int) -> None:
    """Extend all partial alignments by a word without a choice: its match was taken before, or it has no match."""
    first, length = chosen[position, POSITION], chosen[position, IN_REFERENCE]
    worth = _match_score(chosen, position)
    for path in range(live):
        if states[path, NEXT] > position:
            continue
        is_open = states[path, OPEN] != NONE
        if length == 0:
            states[path, CHUNKS_SO_FAR] += is_open
            states[path, OPEN] = NONE
            states[path, NEXT] += 1
            continue
        states[path, TOTAL] += worth
        states[path, CHUNKS_SO_FAR] += is_open and states[path, OPEN] != first
        states[path, DISTANCE] += abs(position - first)
        states[path, NEXT] = position + length
        states[path, OPEN] = first + chosen[position, IN_CANDIDATE]


@compiled
def _match_score(matches: Matches, index: int) -> int:
    if matches[index, STAGE] == EXACT:
        return matches[index, IN_CANDIDATE] + matches[index, IN_REFERENCE]
    return matches[index, IN_CANDIDATE] // 2 + matches[index, IN_REFERENCE] // 2


@compiled
def _offer_choices(
    work: Workspace,
    states: NDArray[np.int64],
    live: int,
    position: int,
    matches: Matches,
    first: int,
    end: int,
) -> int:
    taken, offers, ranks = work.taken, work.offers, work.ranks
    offered = 0
    for path in range(live):
        total, chunks = states[path, TOTAL], states[path, CHUNKS_SO_FAR]
        distance, open_end = states[path, DISTANCE], states[path, OPEN]
        if states[path, NEXT] > position:
            offered = _offer(offers, ranks, offered, total, chunks, distance, path, CARRIED_ALIGNMENT)
            continue
        for index in range(first, end):
            begin = matches[index, POSITION]
            is_free = True
            for covered in range(begin, begin + matches[index, IN_CANDIDATE]):
                is_free &= (
                    states[path, USED + covered // BITS_PER_NUMBER] >> (covered % BITS_PER_NUMBER)
                ) & 1 == 0
            for covered in range(position, position + matches[index, IN_REFERENCE]):
                is_free &= not taken[covered]
            if is_free:
                now = total + _match_score(matches, index)
                broken = chunks + (open_end != NONE and open_end != begin)
                offered = _offer(offers, ranks, offered, now, broken, distance, path, index)
                distance += abs(position - begin)
        offered = _offer(offers, ranks, offered, total, chunks + (open_end != NONE), distance, path, NONE)
    return offered


@compiled
def _offer(
    offers: NDArray[np.int64],
    ranks: Ints,
    offered: int,
    total: int,
    chunks: int,
    distance: int,
    path: int,
    index: int,
) -> int:
    """Keep an offer if it is among the BEAM best, and return the number of offers kept.

    Of equally good offers, the earlier one ranks higher.
    """
    rank = offered
    while rank > 0:
        other = ranks[rank - 1]
        if total < offers[other, TOTAL]:
            break
        if total == offers[other, TOTAL]:
            if chunks > offers[other, CHUNKS_SO_FAR]:
                break
            if chunks == offers[other, CHUNKS_SO_FAR] and distance >= offers[other, DISTANCE]:
                break
        rank -= 1
    if rank == BEAM:
        return offered
    row = offered
    if offered == BEAM:
        row = ranks[BEAM - 1]
        offered -= 1
    for later in range(offered, rank, -1):
        ranks[later] = ranks[later - 1]
    ranks[rank] = row
    offers[row, TOTAL] = total
    offers[row, CHUNKS_SO_FAR] = chunks
    offers[row, DISTANCE] = distance
    offers[row, PATH] = path
    offers[row, MATCH] = index
    return offered + 1


@compiled
def _sort(states: NDArray[np.int64], live: int, width: int) -> None:
    for index in range(1, live):
        at = index
        while at > 0 and _is_better(states, at, at - 1):
            for column in range(width):
                other = states[at, column]
                states[at, column] = states[at - 1, column]
                states[at - 1, column] = other
            at -= 1


@compiled
def _is_better(states: NDArray[np.int64], path: int, other_path: int) -> bool:
    for column in range(DISTANCE + 1):
        if states[path, column] != states[other_path, column]:
            # More words are better, but fewer chunks and less distance.
            return (states[path, column] > states[other_path, column]) == (column == TOTAL)
    return False


@compiled
def _last_choice_of_best(states: NDArray[np.int64], live: int, width: int) -> int:
    _sort(states, live, width)
    for path in range(live):
        states[path, CHUNKS_SO_FAR] += states[path, OPEN] != NONE
    _sort(states, live, width)
    return states[0, CHOICE]
