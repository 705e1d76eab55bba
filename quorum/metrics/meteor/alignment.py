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

# Columns of the statistics: number of words of both texts; number of their function words; for each stage from MATCHED
# on, four numbers of matched words (content words of candidate and reference, then function words of both); CHUNKS.
CANDIDATE_LENGTH, REFERENCE_LENGTH, CANDIDATE_FUNCTION, REFERENCE_FUNCTION, MATCHED = range(5)
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
    """Write the (FIELDS,) statistics of the best alignment of two texts, which are given by their numbers.

    `candidate` holds the words of the candidate. `buffers` and `matches` are arrays to work in. Return `matches`, or
    the larger array that replaced it when it was full.
    """
    candidate_begin, reference_begin = data.starts[candidate_text], data.starts[reference_text]
    candidate_length, reference_length = (
        data.starts[candidate_text + 1] - candidate_begin,
        data.starts[reference_text + 1] - reference_begin,
    )
    pair = AlignedTexts(candidate_text, candidate_length, reference_begin, reference_begin + reference_length)
    for column in range(FIELDS):
        statistics[column] = 0
    statistics[CANDIDATE_LENGTH], statistics[REFERENCE_LENGTH] = candidate_length, reference_length
    for position in range(candidate_begin, candidate_begin + candidate_length):
        statistics[CANDIDATE_FUNCTION] += data.is_function[data.tokens[position]]
    for position in range(reference_begin, reference_begin + reference_length):
        statistics[REFERENCE_FUNCTION] += data.is_function[data.tokens[position]]
    # Equal texts match word by word, in one chunk.
    if candidate_length == reference_length and _are_equal(
        data, candidate_begin, reference_begin, candidate_length
    ):
        for side in range(2):
            function_words = statistics[CANDIDATE_FUNCTION + side]
            statistics[MATCHED + PER_STAGE * EXACT + side] = candidate_length - function_words
            statistics[MATCHED + PER_STAGE * EXACT + 2 + side] = function_words
        statistics[CHUNKS] = min(candidate_length, 1)
        return matches
    round_begin, has_choices, matches = _take_only_choices(data, candidate, buffers, pair, matches)
    if has_choices:
        matches = search(data, candidate, buffers, pair, matches, round_begin)
    _count_matched_words(data, candidate_begin, pair, buffers.chosen_matches, statistics)
    return matches


@compiled
def _are_equal(data: MatchingData, first_begin: int, second_begin: int, length: int) -> bool:
    are_equal = True
    for offset in range(length):
        are_equal &= data.tokens[first_begin + offset] == data.tokens[second_begin + offset]
    return are_equal


@compiled
def _take_only_choices(
    data: MatchingData,
    candidate: CandidateWords,
    buffers: AlignmentBuffers,
    pair: AlignedTexts,
    matches: Matches,
) -> tuple[int, bool, Matches]:
    """Take each match whose words no other match covers.

    Matches are searched in rounds of about `data.max_matches`, and `matches` keeps only those of the last round. Return
    the position in the reference at which the last round began, whether some matches share words, so that one must
    choose among them, and `matches`, which may be a larger array than before.
    """
    chosen_matches, counts = buffers.chosen_matches, buffers.counts
    is_taken, ends = buffers.is_taken, buffers.ends
    candidate_cover, reference_cover = buffers.candidate_cover, buffers.reference_cover
    reference_length = pair.end - pair.begin
    for position in range(pair.length):
        candidate_cover[position] = 0
    for position in range(reference_length):
        reference_cover[position] = 0
        is_taken[position] = False
    # Find the matches of each word, which end at its row of `ends`, and count how many cover each word of both texts.
    begin = position = 0
    while position < reference_length:
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
                for word in range(first, first + matches[index, IN_CANDIDATE]):
                    candidate_cover[word] += 1
                for word in range(position, position + matches[index, IN_REFERENCE]):
                    reference_cover[word] += 1
                index += 1
            position += 1
    # Take a match if no other match covers its words.
    has_choices = False
    for position in range(reference_length):
        is_only_choice = counts[position] == 1
        if is_only_choice:
            first = chosen_matches[position, POSITION]
            for word in range(first, first + chosen_matches[position, IN_CANDIDATE]):
                is_only_choice &= candidate_cover[word] == 1
            for word in range(position, position + chosen_matches[position, IN_REFERENCE]):
                is_only_choice &= reference_cover[word] == 1
        if is_only_choice:
            for word in range(position, position + chosen_matches[position, IN_REFERENCE]):
                is_taken[word] = True
        else:
            chosen_matches[position, IN_CANDIDATE] = chosen_matches[position, IN_REFERENCE] = 0
            has_choices |= counts[position] > 0
    return begin, has_choices, matches


@compiled
def _count_matched_words(
    data: MatchingData, candidate_begin: int, pair: AlignedTexts, chosen_matches: Matches, statistics: Ints
) -> None:
    """Count the matched words by stage and kind of word, and the chunks.

    `candidate_begin` is the position of the candidate's first word.
    """
    is_function = data.is_function
    # A match that begins at the candidate's word `open_end` continues the last chunk.
    position, open_end = 0, NONE
    while position < pair.end - pair.begin:
        match = chosen_matches[position]
        if match[IN_REFERENCE] == 0:
            statistics[CHUNKS] += open_end != NONE
            open_end = NONE
            position += 1
            continue
        column = MATCHED + PER_STAGE * match[STAGE]
        for word in range(
            candidate_begin + match[POSITION], candidate_begin + match[POSITION] + match[IN_CANDIDATE]
        ):
            statistics[column + 2 * is_function[data.tokens[word]]] += 1
        for word in range(pair.begin + position, pair.begin + position + match[IN_REFERENCE]):
            statistics[column + 1 + 2 * is_function[data.tokens[word]]] += 1
        statistics[CHUNKS] += open_end != NONE and open_end != match[POSITION]
        open_end = match[POSITION] + match[IN_CANDIDATE]
        position += match[IN_REFERENCE]
    statistics[CHUNKS] += open_end != NONE
