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
CARRIED_ALIGNMENT = -2  # no choice at this word, because an earlier match of several words covers it

# The columns of a partial alignment ("path"):
# TOTAL: matched words of both sides, as the search weights them.
# CHUNKS_SO_FAR: closed chunks. DISTANCE: the sum of distances.
# NEXT: the next word of the reference. OPEN: the end of the open chunk in the candidate, or NONE.
# CHOICE: the row of the last choice, or NONE.
# USED and all further columns: a bit for each word of the candidate, whether a match covers it.
TOTAL, CHUNKS_SO_FAR, DISTANCE, NEXT, OPEN, CHOICE, USED = range(7)
BITS_PER_NUMBER = 62  # bits used of a 64-bit number

# The columns of a stored offer are those of a partial alignment up to DISTANCE, then these two (see `Offer`).
PATH, MATCH = 3, 4
OFFER_COLUMNS = 5

# Columns of a choice, after those of a match: the word of the reference, the previous choice.
WHERE, BEFORE = COLUMNS, COLUMNS + 1


class Offer(NamedTuple):
    """A way to extend a path at a word of the reference.

    total, chunks, distance: those of the extended path. path: the row of the path. match: the row of the match to add,
    NONE to leave the word unmatched, or CARRIED_ALIGNMENT.
    """

    total: int
    chunks: int
    distance: int
    path: int
    match: int


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

    cover_1, cover_2: number of matches that cover each word of candidate and reference. paths: (2, BEAM, USED +
    numbers) paths of this word and of the next. offers: (BEAM, OFFER_COLUMNS) the best offers, in no order. ranks:
    (BEAM,) the rows of `offers`, best first. choices: the choices of all paths, each with the choice before it.
    """

    chosen: Matches
    ends: Ints
    counts: Ints
    taken: Flags
    cover_1: Ints
    cover_2: Ints
    paths: NDArray[np.int64]
    offers: NDArray[np.int64]
    ranks: Ints
    choices: NDArray[np.int64]


@compiled
def workspace(longest_1: int, longest_2: int) -> Workspace:
    return Workspace(
        np.zeros((longest_2, COLUMNS), dtype=np.int64),
        np.zeros(longest_2, dtype=np.int64),
        np.zeros(longest_2, dtype=np.int64),
        np.zeros(longest_2, dtype=np.bool_),
        np.zeros(longest_1, dtype=np.int64),
        np.zeros(longest_2, dtype=np.int64),
        np.zeros((2, BEAM, _width(longest_1)), dtype=np.int64),
        np.zeros((BEAM, OFFER_COLUMNS), dtype=np.int64),
        np.zeros(BEAM, dtype=np.int64),
        np.zeros((BEAM * longest_2, COLUMNS + 2), dtype=np.int64),
    )


@compiled
def _width(length: int) -> int:
    """Return the number of columns of a path, for a candidate of `length` words."""
    return USED + (length + BITS_PER_NUMBER - 1) // BITS_PER_NUMBER


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
    length_2 = pair.end - pair.begin
    width = _width(pair.length)
    paths, next_paths = work.paths[0], work.paths[1]
    _write_first_path(paths, width, work.chosen, length_2)
    path_count, choice_count = 1, 0
    stop = length_2  # `matches` holds the matches of the reference's words before this one
    for position in range(length_2):
        _sort_paths(paths, path_count, width)
        if work.taken[position] or work.counts[position] == 0:
            _pass_word(paths, path_count, work.chosen, position)
            continue
        if not first <= position < stop:
            first = position
            matches, stop = find_matches(
                lookup, candidate, pair.text, pair.begin + first, pair.end, matches, work.ends
            )
            stop -= pair.begin
        end = work.ends[position - first]
        kept = _offer_choices(work, paths, path_count, position, matches, end - work.counts[position], end)
        choice_count = _extend(work, paths, next_paths, kept, position, matches, choice_count, width)
        paths, next_paths, path_count = next_paths, paths, kept
    _take_best(work, paths, path_count, width)
    return matches


@compiled
def _write_first_path(paths: NDArray[np.int64], width: int, chosen: Matches, length_2: int) -> None:
    """Write the first path. It uses the candidate's words that the matches taken before the search cover."""
    for column in range(width):
        paths[0, column] = 0
    paths[0, OPEN] = paths[0, CHOICE] = NONE
    for position in range(length_2):
        first = chosen[position, POSITION]
        _mark_used(paths, 0, first, first + chosen[position, IN_CANDIDATE])


@compiled
def _mark_used(paths: NDArray[np.int64], path: int, begin: int, end: int) -> None:
    """Mark the words of the candidate from `begin` to `end` as used."""
    for covered in range(begin, end):
        paths[path, USED + covered // BITS_PER_NUMBER] |= np.int64(1) << (covered % BITS_PER_NUMBER)


@compiled
def _is_unused(paths: NDArray[np.int64], path: int, begin: int, end: int) -> bool:
    is_unused = True
    for covered in range(begin, end):
        number = paths[path, USED + covered // BITS_PER_NUMBER]
        is_unused &= (number >> (covered % BITS_PER_NUMBER)) & 1 == 0
    return is_unused


@compiled
def _pass_word(paths: NDArray[np.int64], path_count: int, chosen: Matches, position: int) -> None:
    """Extend all paths by a word of the reference that is matched in `chosen` already, or has no match."""
    first, length = chosen[position, POSITION], chosen[position, IN_REFERENCE]
    score = _match_score(chosen, position)
    for path in range(path_count):
        if paths[path, NEXT] > position:
            continue
        is_open = paths[path, OPEN] != NONE
        if length == 0:
            paths[path, CHUNKS_SO_FAR] += is_open
            paths[path, OPEN] = NONE
            paths[path, NEXT] += 1
            continue
        paths[path, TOTAL] += score
        paths[path, CHUNKS_SO_FAR] += is_open and paths[path, OPEN] != first
        paths[path, DISTANCE] += abs(position - first)
        paths[path, NEXT] = position + length
        paths[path, OPEN] = first + chosen[position, IN_CANDIDATE]


@compiled
def _match_score(matches: Matches, index: int) -> int:
    if matches[index, STAGE] == EXACT:
        return matches[index, IN_CANDIDATE] + matches[index, IN_REFERENCE]
    return matches[index, IN_CANDIDATE] // 2 + matches[index, IN_REFERENCE] // 2


@compiled
def _offer_choices(
    work: Workspace,
    paths: NDArray[np.int64],
    path_count: int,
    position: int,
    matches: Matches,
    first: int,
    end: int,
) -> int:
    """Offer to each path the matches from `first` to `end` at this word, and to leave the word unmatched.

    Return the number of offers kept in `work`.
    """
    is_taken, offers, ranks = work.taken, work.offers, work.ranks
    kept = 0
    for path in range(path_count):
        total, chunks = paths[path, TOTAL], paths[path, CHUNKS_SO_FAR]
        distance, open_end = paths[path, DISTANCE], paths[path, OPEN]
        if paths[path, NEXT] > position:
            kept = _keep(offers, ranks, kept, Offer(total, chunks, distance, path, CARRIED_ALIGNMENT))
            continue
        for index in range(first, end):
            begin = matches[index, POSITION]
            is_free = _is_unused(paths, path, begin, begin + matches[index, IN_CANDIDATE])
            for covered in range(position, position + matches[index, IN_REFERENCE]):
                is_free &= not is_taken[covered]
            if is_free:
                new_total = total + _match_score(matches, index)
                new_chunks = chunks + (open_end != NONE and open_end != begin)
                kept = _keep(offers, ranks, kept, Offer(new_total, new_chunks, distance, path, index))
                distance += abs(position - begin)  # for the later choices at this word only
        unmatched = Offer(total, chunks + (open_end != NONE), distance, path, NONE)
        kept = _keep(offers, ranks, kept, unmatched)
    return kept


@compiled
def _keep(offers: NDArray[np.int64], ranks: Ints, kept: int, offer: Offer) -> int:
    """Keep an offer if it is among the BEAM best, and return the number of offers kept.

    Of equally good offers, the earlier one ranks higher.
    """
    rank = kept
    while rank > 0 and _is_better_offer(offer, offers, ranks[rank - 1]):
        rank -= 1
    if rank == BEAM:
        return kept
    row = kept
    if kept == BEAM:  # overwrite the worst one
        row = ranks[BEAM - 1]
        kept -= 1
    for later in range(kept, rank, -1):
        ranks[later] = ranks[later - 1]
    ranks[rank] = row
    offers[row, TOTAL] = offer.total
    offers[row, CHUNKS_SO_FAR] = offer.chunks
    offers[row, DISTANCE] = offer.distance
    offers[row, PATH] = offer.path
    offers[row, MATCH] = offer.match
    return kept + 1


@compiled
def _is_better_offer(offer: Offer, offers: NDArray[np.int64], other: int) -> bool:
    if offer.total != offers[other, TOTAL]:
        return offer.total > offers[other, TOTAL]
    if offer.chunks != offers[other, CHUNKS_SO_FAR]:
        return offer.chunks < offers[other, CHUNKS_SO_FAR]
    return offer.distance < offers[other, DISTANCE]


@compiled
def _extend(
    work: Workspace,
    paths: NDArray[np.int64],
    next_paths: NDArray[np.int64],
    kept: int,
    position: int,
    matches: Matches,
    choice_count: int,
    width: int,
) -> int:
    """Write the path that each offer extends to `next_paths`, best first, and return the number of choices."""
    choices = work.choices
    for rank in range(kept):
        offer = work.offers[work.ranks[rank]]
        path, index = offer[PATH], offer[MATCH]
        for column in range(DISTANCE + 1):
            next_paths[rank, column] = offer[column]
        for column in range(DISTANCE + 1, width):
            next_paths[rank, column] = paths[path, column]
        if index == NONE:
            next_paths[rank, NEXT] += 1
            next_paths[rank, OPEN] = NONE
        elif index != CARRIED_ALIGNMENT:
            match_end = matches[index, POSITION] + matches[index, IN_CANDIDATE]
            next_paths[rank, NEXT] = position + matches[index, IN_REFERENCE]
            next_paths[rank, OPEN] = match_end
            _mark_used(next_paths, rank, matches[index, POSITION], match_end)
            for column in range(COLUMNS):
                choices[choice_count, column] = matches[index, column]
            choices[choice_count, WHERE] = position
            choices[choice_count, BEFORE] = next_paths[rank, CHOICE]
            next_paths[rank, CHOICE] = choice_count
            choice_count += 1
    return choice_count


@compiled
def _take_best(work: Workspace, paths: NDArray[np.int64], path_count: int, width: int) -> None:
    """Follow the choices of the best path back, and write their matches to `work.chosen`."""
    # Sort before and after closing the chunks, since equally good paths keep their order.
    _sort_paths(paths, path_count, width)
    for path in range(path_count):  # close the open chunks
        paths[path, CHUNKS_SO_FAR] += paths[path, OPEN] != NONE
    _sort_paths(paths, path_count, width)
    choice = paths[0, CHOICE]
    while choice != NONE:
        for column in range(COLUMNS):
            work.chosen[work.choices[choice, WHERE], column] = work.choices[choice, column]
        choice = work.choices[choice, BEFORE]


@compiled
def _sort_paths(paths: NDArray[np.int64], path_count: int, width: int) -> None:
    """Sort paths by insertion, best first. The order of equally good paths stays."""
    for index in range(1, path_count):
        rank = index
        while rank > 0 and _is_better_path(paths, rank, rank - 1):
            for column in range(width):
                value = paths[rank, column]
                paths[rank, column] = paths[rank - 1, column]
                paths[rank - 1, column] = value
            rank -= 1


@compiled
def _is_better_path(paths: NDArray[np.int64], path: int, other_path: int) -> bool:
    for column in range(DISTANCE + 1):
        if paths[path, column] != paths[other_path, column]:
            # More words are better, but fewer chunks and less distance.
            return (paths[path, column] > paths[other_path, column]) == (column == TOTAL)
    return False
