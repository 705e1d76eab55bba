"""All matches between a reference and a candidate, in the order of the official program.

The search tries matches in this order, and keeps the first of equally good alignments: equal words, stems,
synonyms, each from left to right in the candidate; then phrases of the reference with a paraphrase in the
candidate, short ones first, then by the table; then phrases of the candidate that may stand for one of the
reference, from left to right, short ones first, by the table.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.arrays import Flags, Ints
from evaluation.compiled import compiled
from evaluation.metrics.meteor.phrases import Phrases
from evaluation.metrics.meteor.relations import PARAPHRASE, Relations
from evaluation.metrics.text.tries import child
from evaluation.metrics.text.words import Numbers

Matches = NDArray[np.int64]

# Columns of a match: its place in the order, where it begins in the candidate, how many words of the candidate
# and of the reference it covers, its stage.
ORDER, PLACE, IN_CANDIDATE, IN_REFERENCE, STAGE = range(5)
COLUMNS = 5

# How an order is packed: the group of matches, then up to 58 bits. A phrase has less than 2 ** 4 words, a caption
# and what is left of the table less than 2 ** 27 of each.
GROUP = 58
FROM_REFERENCE, FROM_CANDIDATE = 3, 4
PHRASE_BITS, PLACE_BITS = 4, 27


class Lookup(NamedTuple):
    """Common data of all captions: words (as in `Words`), matching words, and phrases.

    is_function: (vocabulary,) function words. enough: number of matches at which to pause.
    """

    words: Numbers
    starts: Ints
    is_function: Flags
    relations: Relations
    phrases: Phrases
    enough: int


class Candidate(NamedTuple):
    """Positions of the candidate's words and phrases, as linked lists from left to right that end with -1.

    first_place (vocabulary,), next_place (longest,): of words. first_found (phrases,), next_found,
    found_places: of phrases. replaceable, replacing: (phrases,) the last text with a phrase that may stand
    for this one, or that this one may stand for; they skip long lists.
    """

    first_place: Numbers
    next_place: Numbers
    first_found: Numbers
    next_found: Numbers
    found_places: Numbers
    replaceable: Numbers
    replacing: Numbers


@compiled
def enter(lookup: Lookup, candidate: Candidate, text: int) -> None:
    """Store the positions of a text's words and phrases."""
    begin, end = lookup.starts[text], lookup.starts[text + 1]
    phrases = lookup.phrases
    found = 0
    for at in range(end - 1, begin - 1, -1):
        word = lookup.words[at]
        candidate.next_place[at - begin] = candidate.first_place[word]
        candidate.first_place[word] = at - begin
        node = 0
        for ahead in range(at, end):
            node = child(phrases.trie, phrases.bits, 0, node, lookup.words[ahead], -1)
            if node < 0:
                break
            phrase = phrases.phrase_of_node[node]
            if phrase >= 0:
                if candidate.first_found[phrase] < 0:
                    for index in range(phrases.source_starts[phrase], phrases.source_starts[phrase + 1]):
                        candidate.replaceable[phrases.sources[index]] = text
                    for index in range(phrases.target_starts[phrase], phrases.target_starts[phrase + 1]):
                        candidate.replacing[phrases.targets[index]] = text
                candidate.found_places[found] = at - begin
                candidate.next_found[found] = candidate.first_found[phrase]
                candidate.first_found[phrase] = found
                found += 1


@compiled
def leave(lookup: Lookup, candidate: Candidate, text: int) -> None:
    """Remove the positions of a text's words and phrases."""
    begin, end = lookup.starts[text], lookup.starts[text + 1]
    phrases = lookup.phrases
    for at in range(begin, end):
        candidate.first_place[lookup.words[at]] = -1
        node = 0
        for ahead in range(at, end):
            node = child(phrases.trie, phrases.bits, 0, node, lookup.words[ahead], -1)
            if node < 0:
                break
            phrase = phrases.phrase_of_node[node]
            if phrase >= 0:
                candidate.first_found[phrase] = -1


@compiled
def find_matches(
    lookup: Lookup,
    candidate: Candidate,
    text: int,
    begin: int,
    end: int,
    matches: Matches,
    ends: Ints,
) -> tuple[Matches, int]:
    """Find the matches of a text, entered before, with the words from `begin` to before `end`.

    Fill `matches` (any size, COLUMNS), word by word, or a larger array; `ends` (end - begin,) gets the end of
    each word's matches. Return the array and the word where it stopped, at the end or after more than
    `lookup.enough` matches.
    """
    phrases = lookup.phrases
    count = 0
    for at in range(begin, end):
        first = count
        word = lookup.words[at]
        for index in range(lookup.relations.starts[word], lookup.relations.starts[word + 1]):
            place = candidate.first_place[lookup.relations.words[index]]
            stage = np.int64(lookup.relations.stages[index])
            while place >= 0:
                matches = _with_room(matches, count)
                matches[count, ORDER] = (stage << GROUP) | place
                matches[count, PLACE] = place
                matches[count, IN_CANDIDATE] = 1
                matches[count, IN_REFERENCE] = 1
                matches[count, STAGE] = stage
                count += 1
                place = candidate.next_place[place]
        node = 0
        for ahead in range(at, end):
            node = child(phrases.trie, phrases.bits, 0, node, lookup.words[ahead], -1)
            if node < 0:
                break
            phrase = phrases.phrase_of_node[node]
            if phrase >= 0 and candidate.replaceable[phrase] == text:
                matches, count = _replaceable(phrases, candidate, phrase, matches, count)
            if phrase >= 0 and candidate.replacing[phrase] == text:
                matches, count = _replacing(phrases, candidate, phrase, matches, count)
        if count - first > 1:
            _put_in_order(matches, first, count)
        ends[at - begin] = count
        if count > lookup.enough:
            return matches, at + 1
    return matches, end


@compiled
def _replaceable(
    phrases: Phrases, candidate: Candidate, phrase: int, matches: Matches, count: int
) -> tuple[Matches, int]:
    """Add the matches of a reference phrase with its paraphrases in the candidate."""
    length = np.int64(phrases.lengths[phrase])
    for index in range(phrases.target_starts[phrase], phrases.target_starts[phrase + 1]):
        found = candidate.first_found[phrases.targets[index]]
        while found >= 0:
            place = np.int64(candidate.found_places[found])
            order = ((FROM_REFERENCE << PHRASE_BITS) | length) << (GROUP - PHRASE_BITS)
            matches = _with_room(matches, count)
            matches[count, ORDER] = order | (index << PLACE_BITS) | place
            matches[count, PLACE] = place
            matches[count, IN_CANDIDATE] = phrases.lengths[phrases.targets[index]]
            matches[count, IN_REFERENCE] = length
            matches[count, STAGE] = PARAPHRASE
            count += 1
            found = candidate.next_found[found]
    return matches, count


@compiled
def _replacing(
    phrases: Phrases, candidate: Candidate, phrase: int, matches: Matches, count: int
) -> tuple[Matches, int]:
    """Add the matches of a reference phrase with candidate phrases that it may stand for."""
    for index in range(phrases.source_starts[phrase], phrases.source_starts[phrase + 1]):
        found = candidate.first_found[phrases.sources[index]]
        while found >= 0:
            place = np.int64(candidate.found_places[found])
            length = np.int64(phrases.lengths[phrases.sources[index]])
            order = (FROM_CANDIDATE << GROUP) | (place << (PLACE_BITS + PHRASE_BITS))
            matches = _with_room(matches, count)
            matches[count, ORDER] = order | (length << PLACE_BITS) | phrases.places[index]
            matches[count, PLACE] = place
            matches[count, IN_CANDIDATE] = length
            matches[count, IN_REFERENCE] = phrases.lengths[phrase]
            matches[count, STAGE] = PARAPHRASE
            count += 1
            found = candidate.next_found[found]
    return matches, count


@compiled
def _with_room(matches: Matches, count: int) -> Matches:
    if count < matches.shape[0]:
        return matches
    larger = np.empty((2 * count, COLUMNS), dtype=np.int64)
    for row in range(count):
        for column in range(COLUMNS):
            larger[row, column] = matches[row, column]
    return larger


@compiled
def _put_in_order(matches: Matches, first: int, end: int) -> None:
    """Sort the matches of one word by their order (Shell 1959); most words have two or three."""
    gap = (end - first) // 2
    while gap > 0:
        for index in range(first + gap, end):
            at = index
            while at >= first + gap and matches[at - gap, ORDER] > matches[at, ORDER]:
                for column in range(COLUMNS):
                    value = matches[at, column]
                    matches[at, column] = matches[at - gap, column]
                    matches[at - gap, column] = value
                at -= gap
        gap //= 2
