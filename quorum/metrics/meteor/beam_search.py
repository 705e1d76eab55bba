"""The beam search for METEOR's best alignment of a candidate with a reference.

The search goes through the words of the reference from left to right. A partial alignment ("path") has chosen a match,
or none, for each word so far. At each word every path is extended by all choices, and the `BEAM` best extended paths
are kept. Of equally good ones, the first are kept. Two rules are those of the official program:

- A match of n words counts n on each side in the exact stage, and n / 2 rounded down in the others, so that a single
  stem or synonym is taken only if it costs no chunk and no distance.
- The distance of a choice is not added to that choice, but to the later choices at the same word. One of these choices
  is to leave the word unmatched.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorum.metrics.meteor.matches import (
    IN_CANDIDATE,
    IN_REFERENCE,
    MATCH_COLUMNS,
    POSITION,
    STAGE,
    CandidateWords,
    Matches,
    MatchingData,
    find_matches,
)
from quorum.metrics.meteor.relations import EXACT
from quorum.numeric.arrays import Flags, Ints
from quorum.numeric.compiling import compiled

BEAM = 40  # partial alignments kept, as in the official program
NONE = -1  # stands for no open chunk, for no match of a word, or for no earlier choice
COVERED_BEFORE = -2  # no choice at this word, because an earlier match of several words covers it

# The columns of a path. A chunk is a run of matches that are adjacent in both texts; it is open as long as the next
# match may continue it.
# TOTAL: number of matched words of both texts, as the rules above count them.
# CHUNKS_SO_FAR: number of closed chunks. DISTANCE: the sum of distances.
# NEXT_WORD: the next word of the reference. OPEN_END: the end of the open chunk in the candidate, or NONE.
# LAST_CHOICE: the row in `AlignmentBuffers.choices` of the path's last match, or NONE.
# USED and all further columns: a bit for each word of the candidate, which says whether a match covers the word.
TOTAL, CHUNKS_SO_FAR, DISTANCE, NEXT_WORD, OPEN_END, LAST_CHOICE, USED = range(7)
BITS_PER_NUMBER = 62  # bits used of a 64-bit number

# The columns of a stored extension are those of a partial alignment up to DISTANCE, then these two (see `Extension`).
PATH, MATCH = 3, 4
EXTENSION_COLUMNS = 5

# A choice is a match that a path contains. Its columns are those of a match, then the word of the reference at which
# the match begins, and the row of the path's choice before it.
REFERENCE_WORD, PREVIOUS_CHOICE = MATCH_COLUMNS, MATCH_COLUMNS + 1


class Extension(NamedTuple):
    """A way to extend a path by a word of the reference.

    total, chunks, distance: the columns of the extended path. path: the row of the path. match: the row of the match to
    add, NONE to leave the word unmatched, or COVERED_BEFORE.
    """

    total: int
    chunks: int
    distance: int
    path: int
    match: int


class AlignedTexts(NamedTuple):
    """Two texts to align.

    text: the number of the candidate's text. length: its number of words. begin, end: the positions of the reference's
    first word, and after its last word.
    """

    text: int
    length: int
    begin: int
    end: int


class AlignmentBuffers(NamedTuple):
    """Arrays that every alignment reuses.

    The first four have a row for each word of the reference. chosen_matches: the match that begins at the word in the
    alignment, or a match of no words. ends: the row after the word's matches, from the first word that `find_matches`
    was asked for. counts: number of matches that begin at the word. is_taken: whether a match that was taken before the
    search covers the word.

    candidate_cover, reference_cover: number of matches that cover each word of the candidate, and of the reference.
    paths: (2, BEAM, columns) paths of this word and of the next. extensions: (BEAM, EXTENSION_COLUMNS) the best
    extensions, in no order. ranks: (BEAM,) the rows of `extensions`, best first. choices: the choices of all paths.
    """

    chosen_matches: Matches
    ends: Ints
    counts: Ints
    is_taken: Flags
    candidate_cover: Ints
    reference_cover: Ints
    paths: NDArray[np.int64]
    extensions: NDArray[np.int64]
    ranks: Ints
    choices: NDArray[np.int64]


@compiled
def allocate_buffers(longest_candidate: int, longest_reference: int) -> AlignmentBuffers:
    """Return buffers for candidates of up to `longest_candidate` words and references of up to `longest_reference`."""
    return AlignmentBuffers(
        np.zeros((longest_reference, MATCH_COLUMNS), dtype=np.int64),
        np.zeros(longest_reference, dtype=np.int64),
        np.zeros(longest_reference, dtype=np.int64),
        np.zeros(longest_reference, dtype=np.bool_),
        np.zeros(longest_candidate, dtype=np.int64),
        np.zeros(longest_reference, dtype=np.int64),
        np.zeros((2, BEAM, _path_width(longest_candidate)), dtype=np.int64),
        np.zeros((BEAM, EXTENSION_COLUMNS), dtype=np.int64),
        np.zeros(BEAM, dtype=np.int64),
        np.zeros((BEAM * longest_reference, MATCH_COLUMNS + 2), dtype=np.int64),
    )


@compiled
def _path_width(candidate_length: int) -> int:
    return USED + (candidate_length + BITS_PER_NUMBER - 1) // BITS_PER_NUMBER


@compiled
def search(
    data: MatchingData,
    candidate: CandidateWords,
    buffers: AlignmentBuffers,
    pair: AlignedTexts,
    matches: Matches,
    first_word: int,
) -> Matches:
    """Write the best alignment to `buffers.chosen_matches`, which has the matches that were taken before the search.

    `matches` holds the matches of the reference's words from `first_word` on. Return this array, or the larger one that
    replaced it when it was full.
    """
    reference_length = pair.end - pair.begin
    width = _path_width(pair.length)  # number of columns of a path
    paths, next_paths = buffers.paths[0], buffers.paths[1]
    _write_first_path(paths, width, buffers.chosen_matches, reference_length)
    path_count, choice_count = 1, 0
    stop = reference_length  # `matches` holds the matches of the reference's words before this one
    for position in range(reference_length):
        _sort_paths(paths, path_count, width)
        if buffers.is_taken[position] or buffers.counts[position] == 0:
            _pass_word(paths, path_count, buffers.chosen_matches, position)
            continue
        if not first_word <= position < stop:
            first_word = position
            matches, stop = find_matches(
                data, candidate, pair.text, pair.begin + first_word, pair.end, matches, buffers.ends
            )
            stop -= pair.begin
        end_row = buffers.ends[position - first_word]
        kept_count = _find_extensions(
            buffers, paths, path_count, position, matches, end_row - buffers.counts[position], end_row
        )
        choice_count = _write_extended_paths(
            buffers, paths, next_paths, kept_count, position, matches, choice_count, width
        )
        paths, next_paths, path_count = next_paths, paths, kept_count
    _write_best_matches(buffers, paths, path_count, width)
    return matches


@compiled
def _write_first_path(
    paths: NDArray[np.int64], width: int, chosen_matches: Matches, reference_length: int
) -> None:
    """Write the first path. It uses the candidate's words that the matches taken before the search cover."""
    for column in range(width):
        paths[0, column] = 0
    paths[0, OPEN_END] = paths[0, LAST_CHOICE] = NONE
    for position in range(reference_length):
        match_begin = chosen_matches[position, POSITION]
        _mark_used(paths, 0, match_begin, match_begin + chosen_matches[position, IN_CANDIDATE])


@compiled
def _mark_used(paths: NDArray[np.int64], path: int, begin: int, end: int) -> None:
    """Mark the candidate's words from `begin` to `end` - 1 as used by the path."""
    for word in range(begin, end):
        paths[path, USED + word // BITS_PER_NUMBER] |= np.int64(1) << (word % BITS_PER_NUMBER)


@compiled
def _is_unused(paths: NDArray[np.int64], path: int, begin: int, end: int) -> bool:
    """Return whether no match of the path covers the candidate's words from `begin` to `end` - 1."""
    is_unused = True
    for word in range(begin, end):
        number = paths[path, USED + word // BITS_PER_NUMBER]
        is_unused &= (number >> (word % BITS_PER_NUMBER)) & 1 == 0
    return is_unused


@compiled
def _pass_word(paths: NDArray[np.int64], path_count: int, chosen_matches: Matches, position: int) -> None:
    """Extend all paths by a word of the reference for which there is nothing to choose.

    The word has no match, or its match was taken before the search and is in `chosen_matches`.
    """
    match_begin, length = chosen_matches[position, POSITION], chosen_matches[position, IN_REFERENCE]
    score = _match_score(chosen_matches, position)
    for path in range(path_count):
        if paths[path, NEXT_WORD] > position:  # an earlier match of several words covers this word
            continue
        is_open = paths[path, OPEN_END] != NONE
        if length == 0:
            paths[path, CHUNKS_SO_FAR] += is_open
            paths[path, OPEN_END] = NONE
            paths[path, NEXT_WORD] += 1
            continue
        paths[path, TOTAL] += score
        paths[path, CHUNKS_SO_FAR] += is_open and paths[path, OPEN_END] != match_begin
        paths[path, DISTANCE] += abs(position - match_begin)
        paths[path, NEXT_WORD] = position + length
        paths[path, OPEN_END] = match_begin + chosen_matches[position, IN_CANDIDATE]


@compiled
def _match_score(matches: Matches, index: int) -> int:
    """Return what the match in this row adds to TOTAL, by the first rule of the module."""
    if matches[index, STAGE] == EXACT:
        return matches[index, IN_CANDIDATE] + matches[index, IN_REFERENCE]
    return matches[index, IN_CANDIDATE] // 2 + matches[index, IN_REFERENCE] // 2


@compiled
def _find_extensions(
    buffers: AlignmentBuffers,
    paths: NDArray[np.int64],
    path_count: int,
    position: int,
    matches: Matches,
    first_row: int,
    end_row: int,
) -> int:
    """Keep the best extensions of all paths by the word at `position`, and return the number of extensions kept.

    A path is extended by one of the word's matches, the rows `first_row` to `end_row` - 1 of `matches`, or by none.
    """
    is_taken, extensions, ranks = buffers.is_taken, buffers.extensions, buffers.ranks
    kept_count = 0
    for path in range(path_count):
        total, chunks = paths[path, TOTAL], paths[path, CHUNKS_SO_FAR]
        distance, open_end = paths[path, DISTANCE], paths[path, OPEN_END]
        if paths[path, NEXT_WORD] > position:
            kept_count = _keep_extension(
                extensions, ranks, kept_count, Extension(total, chunks, distance, path, COVERED_BEFORE)
            )
            continue
        for index in range(first_row, end_row):
            begin = matches[index, POSITION]
            is_free = _is_unused(paths, path, begin, begin + matches[index, IN_CANDIDATE])
            for word in range(position, position + matches[index, IN_REFERENCE]):
                is_free &= not is_taken[word]
            if is_free:
                new_total = total + _match_score(matches, index)
                new_chunks = chunks + (open_end != NONE and open_end != begin)
                kept_count = _keep_extension(
                    extensions, ranks, kept_count, Extension(new_total, new_chunks, distance, path, index)
                )
                distance += abs(position - begin)  # for the later choices at this word only
        unmatched = Extension(total, chunks + (open_end != NONE), distance, path, NONE)
        kept_count = _keep_extension(extensions, ranks, kept_count, unmatched)
    return kept_count


@compiled
def _keep_extension(extensions: NDArray[np.int64], ranks: Ints, kept_count: int, extension: Extension) -> int:
    """Keep an extension if it is among the BEAM best so far, and return the number of extensions kept.

    Of equally good extensions, the earlier one ranks higher.
    """
    rank = kept_count
    while rank > 0 and _is_better_extension(extension, extensions, ranks[rank - 1]):
        rank -= 1
    if rank == BEAM:
        return kept_count
    row = kept_count
    if kept_count == BEAM:  # overwrite the worst one
        row = ranks[BEAM - 1]
        kept_count -= 1
    for later_rank in range(kept_count, rank, -1):
        ranks[later_rank] = ranks[later_rank - 1]
    ranks[rank] = row
    extensions[row, TOTAL] = extension.total
    extensions[row, CHUNKS_SO_FAR] = extension.chunks
    extensions[row, DISTANCE] = extension.distance
    extensions[row, PATH] = extension.path
    extensions[row, MATCH] = extension.match
    return kept_count + 1


@compiled
def _is_better_extension(extension: Extension, extensions: NDArray[np.int64], other_row: int) -> bool:
    """Return whether an extension is better than the one in `other_row`: by words, then chunks, then distance."""
    if extension.total != extensions[other_row, TOTAL]:
        return extension.total > extensions[other_row, TOTAL]
    if extension.chunks != extensions[other_row, CHUNKS_SO_FAR]:
        return extension.chunks < extensions[other_row, CHUNKS_SO_FAR]
    return extension.distance < extensions[other_row, DISTANCE]


@compiled
def _write_extended_paths(
    buffers: AlignmentBuffers,
    paths: NDArray[np.int64],
    next_paths: NDArray[np.int64],
    kept_count: int,
    position: int,
    matches: Matches,
    choice_count: int,
    width: int,
) -> int:
    """Write the extended paths to `next_paths`, best first, and return the number of choices stored so far."""
    choices = buffers.choices
    for rank in range(kept_count):
        extension = buffers.extensions[buffers.ranks[rank]]
        path, index = extension[PATH], extension[MATCH]
        for column in range(DISTANCE + 1):
            next_paths[rank, column] = extension[column]
        for column in range(DISTANCE + 1, width):
            next_paths[rank, column] = paths[path, column]
        if index == NONE:
            next_paths[rank, NEXT_WORD] += 1
            next_paths[rank, OPEN_END] = NONE
        elif index != COVERED_BEFORE:
            match_end = matches[index, POSITION] + matches[index, IN_CANDIDATE]
            next_paths[rank, NEXT_WORD] = position + matches[index, IN_REFERENCE]
            next_paths[rank, OPEN_END] = match_end
            _mark_used(next_paths, rank, matches[index, POSITION], match_end)
            for column in range(MATCH_COLUMNS):
                choices[choice_count, column] = matches[index, column]
            choices[choice_count, REFERENCE_WORD] = position
            choices[choice_count, PREVIOUS_CHOICE] = next_paths[rank, LAST_CHOICE]
            next_paths[rank, LAST_CHOICE] = choice_count
            choice_count += 1
    return choice_count


@compiled
def _write_best_matches(
    buffers: AlignmentBuffers, paths: NDArray[np.int64], path_count: int, width: int
) -> None:
    """Follow the choices of the best path back, and write their matches to `buffers.chosen_matches`."""
    # Sort before and after closing the chunks, as the official program does: equally good paths keep their order.
    _sort_paths(paths, path_count, width)
    for path in range(path_count):  # close the open chunks
        paths[path, CHUNKS_SO_FAR] += paths[path, OPEN_END] != NONE
    _sort_paths(paths, path_count, width)
    choice, choices = paths[0, LAST_CHOICE], buffers.choices
    while choice != NONE:
        for column in range(MATCH_COLUMNS):
            buffers.chosen_matches[choices[choice, REFERENCE_WORD], column] = choices[choice, column]
        choice = choices[choice, PREVIOUS_CHOICE]


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
