"""The alignment of a candidate with a reference, and its statistics.

The best alignment matches the most words, each at most once. Of several such alignments, it has the fewest chunks; of
these, the smallest sum of distances between the starts of matches (Lavie, Denkowski 2009; Denkowski, Lavie 2011). A
match that shares no word with another match is always taken; `beam_search` chooses among the others.
"""

from quorum.metrics.meteor.beam_search import NONE, AlignedTexts, AlignmentBuffers, search
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
from quorum.metrics.meteor.relations import EXACT, STAGES
from quorum.numeric.arrays import Ints
from quorum.numeric.compiling import compiled

# Columns of the statistics: words of the candidate (1) and the reference (2); function words of both; for each stage,
# four counts of matched words (content words of candidate and reference, function words of both); chunks.
LENGTH_1, LENGTH_2, FUNCTION_1, FUNCTION_2, MATCHED = range(5)
PER_STAGE = 4  # columns of each stage
CHUNKS = MATCHED + len(STAGES) * PER_STAGE
FIELDS = CHUNKS + 1


@compiled
def align(
    data: MatchingData,
    candidate: CandidateWords,
    buffers: AlignmentBuffers,
    candidate_text: int,
    reference_text: int,
    matches: Matches,
    statistics: Ints,
) -> Matches:
    """Write the (FIELDS,) statistics of the best alignment of two texts.

    `matches` is a buffer. Return it, or the larger one that replaced it when it was full.
    """
    begin_1, begin_2 = data.starts[candidate_text], data.starts[reference_text]
    length_1, length_2 = (
        data.starts[candidate_text + 1] - begin_1,
        data.starts[reference_text + 1] - begin_2,
    )
    pair = AlignedTexts(candidate_text, length_1, begin_2, begin_2 + length_2)
    for column in range(FIELDS):
        statistics[column] = 0
    statistics[LENGTH_1], statistics[LENGTH_2] = length_1, length_2
    for position in range(begin_1, begin_1 + length_1):
        statistics[FUNCTION_1] += data.is_function[data.tokens[position]]
    for position in range(begin_2, begin_2 + length_2):
        statistics[FUNCTION_2] += data.is_function[data.tokens[position]]
    # Equal texts match word by word, in one chunk.
    if length_1 == length_2 and _are_equal(data, begin_1, begin_2, length_1):
        for side in range(2):
            function_words = statistics[FUNCTION_1 + side]
            statistics[MATCHED + PER_STAGE * EXACT + side] = length_1 - function_words
            statistics[MATCHED + PER_STAGE * EXACT + 2 + side] = function_words
        statistics[CHUNKS] = min(length_1, 1)
        return matches
    first, has_choices, matches = _take_only_choices(data, candidate, buffers, pair, matches)
    if has_choices:
        matches = search(data, candidate, buffers, pair, matches, first)
    _count_matched_words(data, begin_1, pair, buffers.chosen_matches, statistics)
    return matches


@compiled
def _are_equal(data: MatchingData, first: int, second: int, length: int) -> bool:
    are_equal = True
    for offset in range(length):
        are_equal &= data.tokens[first + offset] == data.tokens[second + offset]
    return are_equal


@compiled
def _take_only_choices(
    data: MatchingData,
    candidate: CandidateWords,
    buffers: AlignmentBuffers,
    pair: AlignedTexts,
    matches: Matches,
) -> tuple[int, bool, Matches]:
    """Take the matches that share no word with other matches.

    Return the word of the reference at which `matches` begins, whether any matches remain to be chosen, and `matches`.
    """
    chosen_matches, counts = buffers.chosen_matches, buffers.counts
    is_taken, ends = buffers.is_taken, buffers.ends
    cover_1, cover_2 = buffers.cover_1, buffers.cover_2
    length_2 = pair.end - pair.begin
    for position in range(pair.length):
        cover_1[position] = 0
    for position in range(length_2):
        cover_2[position] = 0
        is_taken[position] = False
    # Find the matches of each word, and count how many cover each word of both texts.
    begin = position = 0
    while position < length_2:
        begin = position
        matches, stop = find_matches(data, candidate, pair.text, pair.begin + begin, pair.end, matches, ends)
        index = 0
        while position < stop - pair.begin:
            counts[position] = ends[position - begin] - index
            if counts[position] == 1:
                for column in range(MATCH_COLUMNS):
                    chosen_matches[position, column] = matches[index, column]
            while index < ends[position - begin]:
                first = matches[index, POSITION]
                for covered in range(first, first + matches[index, IN_CANDIDATE]):
                    cover_1[covered] += 1
                for covered in range(position, position + matches[index, IN_REFERENCE]):
                    cover_2[covered] += 1
                index += 1
            position += 1
    # Take a match if no other match covers its words.
    has_choices = False
    for position in range(length_2):
        is_only_choice = counts[position] == 1
        if is_only_choice:
            first = chosen_matches[position, POSITION]
            for covered in range(first, first + chosen_matches[position, IN_CANDIDATE]):
                is_only_choice &= cover_1[covered] == 1
            for covered in range(position, position + chosen_matches[position, IN_REFERENCE]):
                is_only_choice &= cover_2[covered] == 1
        if is_only_choice:
            for covered in range(position, position + chosen_matches[position, IN_REFERENCE]):
                is_taken[covered] = True
        else:
            chosen_matches[position, IN_CANDIDATE] = chosen_matches[position, IN_REFERENCE] = 0
            has_choices |= counts[position] > 0
    return begin, has_choices, matches


@compiled
def _count_matched_words(
    data: MatchingData, begin_1: int, pair: AlignedTexts, chosen_matches: Matches, statistics: Ints
) -> None:
    """Count the matched words by stage and kind of word, and the chunks. `begin_1` is the candidate's first word."""
    is_function = data.is_function
    position, open_end = 0, NONE
    while position < pair.end - pair.begin:
        match = chosen_matches[position]
        if match[IN_REFERENCE] == 0:
            statistics[CHUNKS] += open_end != NONE
            open_end = NONE
            position += 1
            continue
        column = MATCHED + PER_STAGE * match[STAGE]
        for word in range(begin_1 + match[POSITION], begin_1 + match[POSITION] + match[IN_CANDIDATE]):
            statistics[column + 2 * is_function[data.tokens[word]]] += 1
        for word in range(pair.begin + position, pair.begin + position + match[IN_REFERENCE]):
            statistics[column + 1 + 2 * is_function[data.tokens[word]]] += 1
        statistics[CHUNKS] += open_end != NONE and open_end != match[POSITION]
        open_end = match[POSITION] + match[IN_CANDIDATE]
        position += match[IN_REFERENCE]
    statistics[CHUNKS] += open_end != NONE
