"""Compiled loops that find METEOR's matches of a candidate with a reference.

Matches have the order of the official program, because the search keeps the first of equally good alignments:

1. equal words, then words of one stem, then synonyms, each from left to right in the candidate;
2. phrases of the reference that have a paraphrase in the candidate, by length, then by their order in the table;
3. phrases of the candidate that have a paraphrase in the reference, from left to right, by length, then by their
   order in the table.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorum.metrics.meteor.caption_phrases import CaptionPhrases
from quorum.metrics.meteor.relations import PARAPHRASE, WordRelations
from quorum.metrics.text.tries import child
from quorum.numeric.arrays import Flags, Ints, Numbers
from quorum.numeric.compiling import compiled

Matches = NDArray[np.int64]

# Columns of a match: ORDER is its sort key, POSITION its first word in the candidate, IN_CANDIDATE and IN_REFERENCE are
# the numbers of words that it covers in each text, and STAGE is one of `relations.STAGES`.
ORDER, POSITION, IN_CANDIDATE, IN_REFERENCE, STAGE = range(5)
MATCH_COLUMNS = 5

# A sort key has the group of the match in its highest bits. Groups 0 to 2 are the stages of single words, with the
# position below. FROM_REFERENCE and FROM_CANDIDATE are phrases of the orders 2 and 3 of the module; below are length (4
# bits), pair (27), position (27), or position, length, pair. A pair is given by its position in `phrases.targets`.
GROUP_SHIFT = 58  # bits below the group
FROM_REFERENCE, FROM_CANDIDATE = 3, 4
LENGTH_BITS, POSITION_BITS = 4, 27


class MatchingData(NamedTuple):
    """What the search for matches reads: all texts, and which of their words and phrases match.

    tokens, starts: as in `TokenizedTexts`. is_function: (vocabulary,) flags of function words. relations, phrases: the
    words and the phrases that match. max_matches: number of matches after which `find_matches` stops, at the end of a
    word.
    """

    tokens: Numbers
    starts: Ints
    is_function: Flags
    relations: WordRelations
    phrases: CaptionPhrases
    max_matches: int


class CandidateWords(NamedTuple):
    """Where the words and phrases of one candidate occur, as linked lists from left to right that end with -1.

    first_position: (vocabulary,) first position of each word in the candidate. next_position: for each position, the
    next one with the same word. first_occurrence: (phrases,) number of the first occurrence of each phrase.
    occurrence_positions: the position of each occurrence. next_occurrence: for each occurrence, the number of the next
    one of the same phrase. text_with_target: (phrases,) number of the last candidate written that has a paraphrase of
    the phrase; -1 for none. text_with_source: (phrases,) that of the last one with a phrase which this one paraphrases.
    """

    first_position: Numbers
    next_position: Numbers
    first_occurrence: Numbers
    next_occurrence: Numbers
    occurrence_positions: Numbers
    text_with_target: Numbers
    text_with_source: Numbers


@compiled
def write_candidate(data: MatchingData, candidate: CandidateWords, text: int) -> None:
    """Write the words and phrases of a text into `candidate`.

    The text is read from right to left, so that the lists, to which entries are added in front, go from left to right.
    """
    begin, end = data.starts[text], data.starts[text + 1]
    phrases = data.phrases
    phrase_count = 0
    for position in range(end - 1, begin - 1, -1):
        word = data.tokens[position]
        candidate.next_position[position - begin] = candidate.first_position[word]
        candidate.first_position[word] = position - begin
        node = 0  # the root of the trie, which has a single owner, 0
        for next_word in range(position, end):
            node = child(phrases.trie, phrases.bits, 0, node, data.tokens[next_word], -1)
            if node < 0:  # no phrase goes on with this word (`child` returns the -1, and stores no node)
                break
            phrase = phrases.phrase_of_node[node]
            if phrase >= 0:
                if candidate.first_occurrence[phrase] < 0:
                    for index in range(phrases.source_starts[phrase], phrases.source_starts[phrase + 1]):
                        candidate.text_with_target[phrases.sources[index]] = text
                    for index in range(phrases.target_starts[phrase], phrases.target_starts[phrase + 1]):
                        candidate.text_with_source[phrases.targets[index]] = text
                candidate.occurrence_positions[phrase_count] = position - begin
                candidate.next_occurrence[phrase_count] = candidate.first_occurrence[phrase]
                candidate.first_occurrence[phrase] = phrase_count
                phrase_count += 1


@compiled
def clear_candidate(data: MatchingData, candidate: CandidateWords, text: int) -> None:
    begin, end = data.starts[text], data.starts[text + 1]
    phrases = data.phrases
    for position in range(begin, end):
        candidate.first_position[data.tokens[position]] = -1
        node = 0
        for next_word in range(position, end):
            node = child(phrases.trie, phrases.bits, 0, node, data.tokens[next_word], -1)
            if node < 0:
                break
            phrase = phrases.phrase_of_node[node]
            if phrase >= 0:
                candidate.first_occurrence[phrase] = -1


@compiled
def find_matches(
    data: MatchingData,
    candidate: CandidateWords,
    text: int,
    begin: int,
    end: int,
    matches: Matches,
    ends: Ints,
) -> tuple[Matches, int]:
    """Find the matches of candidate `text`, whose words `candidate` holds, with the reference's words begin to end - 1.

    Write a row of `matches` (rows, MATCH_COLUMNS) for each match, and `ends`, which has the row after each word's
    matches. Return the array of matches, which is a larger one if `matches` was full, and the word at which the search
    stopped.
    """
    phrases = data.phrases
    count = 0
    for word_position in range(begin, end):
        first_match = count
        # Words of the candidate that equal this word, share its stem or are synonyms.
        word = data.tokens[word_position]
        for index in range(data.relations.starts[word], data.relations.starts[word + 1]):
            position = candidate.first_position[data.relations.tokens[index]]
            stage = np.int64(data.relations.stages[index])
            while position >= 0:
                matches = _enlarge_if_full(matches, count)
                matches[count, ORDER] = (stage << GROUP_SHIFT) | position
                matches[count, POSITION] = position
                matches[count, IN_CANDIDATE] = 1
                matches[count, IN_REFERENCE] = 1
                matches[count, STAGE] = stage
                count += 1
                position = candidate.next_position[position]
        # Phrases of the candidate that the table pairs, in either direction, with a phrase that begins at this word.
        node = 0
        for next_word in range(word_position, end):
            node = child(phrases.trie, phrases.bits, 0, node, data.tokens[next_word], -1)
            if node < 0:
                break
            phrase = phrases.phrase_of_node[node]
            if phrase >= 0 and candidate.text_with_target[phrase] == text:
                matches, count = _match_targets(phrases, candidate, phrase, matches, count)
            if phrase >= 0 and candidate.text_with_source[phrase] == text:
                matches, count = _match_sources(phrases, candidate, phrase, matches, count)
        if count - first_match > 1:
            _put_in_order(matches, first_match, count)
        ends[word_position - begin] = count
        if count > data.max_matches:
            return matches, word_position + 1
    return matches, end


@compiled
def _match_targets(
    phrases: CaptionPhrases, candidate: CandidateWords, phrase: int, matches: Matches, count: int
) -> tuple[Matches, int]:
    """Add the matches of a phrase of the reference with its paraphrases in the candidate (order 2 of the module)."""
    length = np.int64(phrases.lengths[phrase])
    for index in range(phrases.target_starts[phrase], phrases.target_starts[phrase + 1]):
        occurrence = candidate.first_occurrence[phrases.targets[index]]
        while occurrence >= 0:
            position = np.int64(candidate.occurrence_positions[occurrence])
            order = ((FROM_REFERENCE << LENGTH_BITS) | length) << (GROUP_SHIFT - LENGTH_BITS)
            matches = _enlarge_if_full(matches, count)
            matches[count, ORDER] = order | (index << POSITION_BITS) | position
            matches[count, POSITION] = position
            matches[count, IN_CANDIDATE] = phrases.lengths[phrases.targets[index]]
            matches[count, IN_REFERENCE] = length
            matches[count, STAGE] = PARAPHRASE
            count += 1
            occurrence = candidate.next_occurrence[occurrence]
    return matches, count


@compiled
def _match_sources(
    phrases: CaptionPhrases, candidate: CandidateWords, phrase: int, matches: Matches, count: int
) -> tuple[Matches, int]:
    """Add the matches of a phrase of the reference with phrases that it paraphrases (order 3 of the module)."""
    for index in range(phrases.source_starts[phrase], phrases.source_starts[phrase + 1]):
        occurrence = candidate.first_occurrence[phrases.sources[index]]
        while occurrence >= 0:
            position = np.int64(candidate.occurrence_positions[occurrence])
            length = np.int64(phrases.lengths[phrases.sources[index]])
            order = (FROM_CANDIDATE << GROUP_SHIFT) | (position << (POSITION_BITS + LENGTH_BITS))
            matches = _enlarge_if_full(matches, count)
            matches[count, ORDER] = order | (length << POSITION_BITS) | phrases.pair_positions[index]
            matches[count, POSITION] = position
            matches[count, IN_CANDIDATE] = length
            matches[count, IN_REFERENCE] = phrases.lengths[phrase]
            matches[count, STAGE] = PARAPHRASE
            count += 1
            occurrence = candidate.next_occurrence[occurrence]
    return matches, count


@compiled
def _enlarge_if_full(matches: Matches, count: int) -> Matches:
    """Return the array, or a copy of twice the size if its first `count` rows fill it."""
    if count < matches.shape[0]:
        return matches
    larger_matches = np.empty((2 * count, MATCH_COLUMNS), dtype=np.int64)
    for row in range(count):
        for column in range(MATCH_COLUMNS):
            larger_matches[row, column] = matches[row, column]
    return larger_matches


@compiled
def _put_in_order(matches: Matches, first: int, end: int) -> None:
    """Sort the matches of one word by their sort key, in place (Shell 1959). Most words have two or three matches."""
    gap = (end - first) // 2
    while gap > 0:
        for index in range(first + gap, end):
            position = index
            while position >= first + gap and matches[position - gap, ORDER] > matches[position, ORDER]:
                for column in range(MATCH_COLUMNS):
                    value = matches[position, column]
                    matches[position, column] = matches[position - gap, column]
                    matches[position - gap, column] = value
                position -= gap
        gap //= 2
