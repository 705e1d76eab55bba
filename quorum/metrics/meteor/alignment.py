"""METEOR's matches of a candidate with a reference, their alignment, and its statistics.

Lavie, Denkowski 2009; Denkowski, Lavie 2011: most words matched, each at most once, then fewest chunks, then the
smallest sum of distances between the starts of matches. A match without competitors is taken at once. For the
others a beam search walks the reference from left to right and keeps the `BEAM` best partial alignments, of equals
the first. As in the official program:

- A match of n words counts n on each side in the exact stage, and n / 2 rounded down in the others, so that a single
  stem or synonym is taken only if it costs no chunk and no distance.
- A choice adds to the distance of the later choices at the same word, also of leaving it unmatched, not to its own.

Matches come in the order of the official program, as the search keeps the first of equally good alignments: equal
words, stems, synonyms, each from left to right in the candidate; then phrases of the reference with a paraphrase in the
candidate, short ones first, then by the table; then phrases of the candidate that may stand for one of the reference,
from left to right, short ones first, by the table.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorum.metrics.meteor.tables import Phrases, Synonyms
from quorum.metrics.text.stemming import snowball_stems
from quorum.metrics.text.tokens import Numbers, child, ranges
from quorum.numeric.arrays import Flags, Ints, compiled, starts_of

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
STAGES = ("exact", "stem", "synonym", "paraphrase")
ALL = "all"  # every stage that there is data for

# The stages build on one another, so a choice of stages is how many of them there are.
STAGE_CHOICES = tuple("-".join(STAGES[: count + 1]) for count in range(len(STAGES)))

# WordNet's rules for the basic form of a noun, a verb, an adjective (Princeton University, WordNet 3.0): the
# first ending that leads to an entry counts.
_RULES = "s: ses:s xes:x zes:z ches:ch shes:sh men:man ies:y s: ies:y es:e es: ed:e ed: ing:e ing: er: est: er:e est:e"
_ENDINGS = tuple(rule.partition(":")[::2] for rule in _RULES.split())
_SHORT = 2  # letters; such words have no other basic form


class Relations(NamedTuple):
    """The words that word w matches, itself included, once for each stage: `words[starts[w]:starts[w + 1]]`."""

    starts: Ints
    tokens: Numbers
    stages: NDArray[np.int8]


def relations(vocabulary: Sequence[str], stages: int, synonyms: Synonyms | None) -> Relations:
    itself = np.arange(len(vocabulary))
    related: list[tuple[Ints, Ints, int]] = [(itself, itself, EXACT)]
    if stages > STEM:
        numbers: dict[str, int] = {}
        stems = [numbers.setdefault(stem, len(numbers)) for stem in snowball_stems(vocabulary)]
        related.append((*_sharing(itself, np.array(stems, dtype=np.int64)), STEM))
    if stages > SYNONYM and synonyms is not None:
        related.append((*_sharing(*_synonym_sets(vocabulary, synonyms)), SYNONYM))
    left = np.concatenate([pair[0] for pair in related])
    order = np.argsort(left, kind="stable")
    right = np.concatenate([pair[1] for pair in related])[order].astype(np.int32)
    stage = np.concatenate([np.full(pair[0].size, pair[2], dtype=np.int8) for pair in related])[order]
    counts = np.bincount(left, minlength=len(vocabulary))
    return Relations(starts_of(counts), right, stage)


def _sharing(tokens: Ints, sets: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(sets, kind="stable")
    tokens, sets = tokens[order], sets[order]
    first = np.flatnonzero(np.diff(sets, prepend=-1))
    sizes = np.diff(first, append=sets.size)
    members = np.repeat(sizes, sizes)
    left = np.repeat(tokens, members)
    right = tokens[ranges(np.repeat(first, sizes), members)]
    differ = left != right
    size = int(tokens.max(initial=0)) + 1
    pairs = np.unique(left[differ] * size + right[differ])
    return pairs // size, pairs % size


def _synonym_sets(vocabulary: Sequence[str], synonyms: Synonyms) -> tuple[Ints, Ints]:
    tokens, entries = [], []
    for number, word in enumerate(vocabulary):
        for word_entry in _entries(word, synonyms):
            tokens.append(number)
            entries.append(word_entry)
    entry = np.array(entries, dtype=np.int64)
    counts = synonyms.starts[entry + 1] - synonyms.starts[entry]
    sets = synonyms.sets[ranges(synonyms.starts[entry], counts)].astype(np.int64)
    # Both are below 2 ** 31.
    pairs = np.unique((np.repeat(np.array(tokens, dtype=np.int64), counts) << 31) | sets)
    return pairs >> 31, pairs & ((1 << 31) - 1)


def _entries(word: str, synonyms: Synonyms) -> Iterator[int]:
    known = synonyms.entries
    forms = {word, *synonyms.bases.get(word, ())}
    if word not in synonyms.bases and len(word) > _SHORT and not word.endswith("ss"):
        for ending, instead in _ENDINGS:
            form = word.removesuffix(ending) + instead
            if word.endswith(ending) and form in known:
                forms.add(form)
                break
    return (known[form] for form in sorted(forms) if form in known)


Matches = NDArray[np.int64]

# Columns of a match: its place in the order, where it begins in the candidate, how many words of the candidate
# and of the reference it covers, its stage.
ORDER, POSITION, IN_CANDIDATE, IN_REFERENCE, STAGE = range(5)
COLUMNS = 5

# How an order is packed: the group of matches, then up to 58 bits. A phrase has less than 2 ** 4 words, a caption
# and what is left of the table less than 2 ** 27 of each.
GROUP = 58
FROM_REFERENCE, FROM_CANDIDATE = 3, 4
PHRASE_BITS, POSITION_BITS = 4, 27


class Lookup(NamedTuple):
    """Common data of all captions; the search pauses after `enough` matches."""

    tokens: Numbers
    starts: Ints
    is_function: Flags
    relations: Relations
    phrases: Phrases
    enough: int


class Candidate(NamedTuple):
    """Positions of the candidate's words and phrases, as linked lists from left to right that end with -1.

    first_position (vocabulary,), next_position: of words. first_occurrence (phrases,), next_occurrence,
    occurrence_positions: of phrases. replaceable, replacing: (phrases,) the last text with a phrase that may stand for
    this one, or that this one may stand for.
    """

    first_position: Numbers
    next_position: Numbers
    first_occurrence: Numbers
    next_occurrence: Numbers
    occurrence_positions: Numbers
    replaceable: Numbers
    replacing: Numbers


@compiled
def enter(lookup: Lookup, candidate: Candidate, text: int) -> None:
    begin, end = lookup.starts[text], lookup.starts[text + 1]
    phrases = lookup.phrases
    phrase_count = 0
    for position in range(end - 1, begin - 1, -1):
        word = lookup.tokens[position]
        candidate.next_position[position - begin] = candidate.first_position[word]
        candidate.first_position[word] = position - begin
        # Phrases that begin here, and those that could stand for them.
        node = 0
        for ahead in range(position, end):
            node = child(phrases.trie, phrases.bits, 0, node, lookup.tokens[ahead], -1)
            if node < 0:
                break
            phrase = phrases.phrase_of_node[node]
            if phrase >= 0:
                if candidate.first_occurrence[phrase] < 0:
                    for index in range(phrases.source_starts[phrase], phrases.source_starts[phrase + 1]):
                        candidate.replaceable[phrases.sources[index]] = text
                    for index in range(phrases.target_starts[phrase], phrases.target_starts[phrase + 1]):
                        candidate.replacing[phrases.targets[index]] = text
                candidate.occurrence_positions[phrase_count] = position - begin
                candidate.next_occurrence[phrase_count] = candidate.first_occurrence[phrase]
                candidate.first_occurrence[phrase] = phrase_count
                phrase_count += 1


@compiled
def leave(lookup: Lookup, candidate: Candidate, text: int) -> None:
    begin, end = lookup.starts[text], lookup.starts[text + 1]
    phrases = lookup.phrases
    for position in range(begin, end):
        candidate.first_position[lookup.tokens[position]] = -1
        node = 0
        for ahead in range(position, end):
            node = child(phrases.trie, phrases.bits, 0, node, lookup.tokens[ahead], -1)
            if node < 0:
                break
            phrase = phrases.phrase_of_node[node]
            if phrase >= 0:
                candidate.first_occurrence[phrase] = -1


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

    Fill `matches` (any size, COLUMNS), or a larger array, and the `ends` of each word's. Return the array and the
    word where it stopped.
    """
    phrases = lookup.phrases
    count = 0
    for at in range(begin, end):
        first = count
        # Words of the candidate that are this one, share its stem or are synonyms.
        word = lookup.tokens[at]
        for index in range(lookup.relations.starts[word], lookup.relations.starts[word + 1]):
            position = candidate.first_position[lookup.relations.tokens[index]]
            stage = np.int64(lookup.relations.stages[index])
            while position >= 0:
                matches = _with_room(matches, count)
                matches[count, ORDER] = (stage << GROUP) | position
                matches[count, POSITION] = position
                matches[count, IN_CANDIDATE] = 1
                matches[count, IN_REFERENCE] = 1
                matches[count, STAGE] = stage
                count += 1
                position = candidate.next_position[position]
        # Phrases of the candidate that paraphrase one that begins here.
        node = 0
        for ahead in range(at, end):
            node = child(phrases.trie, phrases.bits, 0, node, lookup.tokens[ahead], -1)
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
    length = np.int64(phrases.lengths[phrase])
    for index in range(phrases.target_starts[phrase], phrases.target_starts[phrase + 1]):
        occurrence = candidate.first_occurrence[phrases.targets[index]]
        while occurrence >= 0:
            position = np.int64(candidate.occurrence_positions[occurrence])
            order = ((FROM_REFERENCE << PHRASE_BITS) | length) << (GROUP - PHRASE_BITS)
            matches = _with_room(matches, count)
            matches[count, ORDER] = order | (index << POSITION_BITS) | position
            matches[count, POSITION] = position
            matches[count, IN_CANDIDATE] = phrases.lengths[phrases.targets[index]]
            matches[count, IN_REFERENCE] = length
            matches[count, STAGE] = PARAPHRASE
            count += 1
            occurrence = candidate.next_occurrence[occurrence]
    return matches, count


@compiled
def _replacing(
    phrases: Phrases, candidate: Candidate, phrase: int, matches: Matches, count: int
) -> tuple[Matches, int]:
    for index in range(phrases.source_starts[phrase], phrases.source_starts[phrase + 1]):
        occurrence = candidate.first_occurrence[phrases.sources[index]]
        while occurrence >= 0:
            position = np.int64(candidate.occurrence_positions[occurrence])
            length = np.int64(phrases.lengths[phrases.sources[index]])
            order = (FROM_CANDIDATE << GROUP) | (position << (POSITION_BITS + PHRASE_BITS))
            matches = _with_room(matches, count)
            matches[count, ORDER] = order | (length << POSITION_BITS) | phrases.places[index]
            matches[count, POSITION] = position
            matches[count, IN_CANDIDATE] = length
            matches[count, IN_REFERENCE] = phrases.lengths[phrase]
            matches[count, STAGE] = PARAPHRASE
            count += 1
            occurrence = candidate.next_occurrence[occurrence]
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
            position = index
            while position >= first + gap and matches[position - gap, ORDER] > matches[position, ORDER]:
                for column in range(COLUMNS):
                    value = matches[position, column]
                    matches[position, column] = matches[position - gap, column]
                    matches[position - gap, column] = value
                position -= gap
        gap //= 2


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


class AlignedTexts(NamedTuple):
    """The candidate's text and length, and the bounds of the reference's words."""

    text: int
    length: int
    begin: int
    end: int


class Workspace(NamedTuple):
    """Arrays reused by every alignment.

    For each word of the reference: chosen (longest, COLUMNS) the match taken, or one of no words; ends, counts of
    the matches that begin there; taken: covered by a match taken before the search. cover_1, cover_2: matches
    that cover each word. states: (2, BEAM, USED + limbs) partial alignments of this step and the next. offers
    (BEAM, OFFER), ranks (BEAM,): the best offers, and their order.
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
    limbs = (longest_1 + LIMB - 1) // LIMB
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
    candidate: Candidate,
    work: Workspace,
    pair: AlignedTexts,
    matches: Matches,
    first: int,
) -> Matches:
    """Complete what is chosen; `matches` holds those of the words from `first` on."""
    chosen, ends, taken, counts = work.chosen, work.ends, work.taken, work.counts
    offers, ranks, choices = work.offers, work.ranks, work.choices
    length_2 = pair.end - pair.begin
    width = USED + (pair.length + LIMB - 1) // LIMB
    now, then = work.states[0], work.states[1]
    for column in range(width):
        now[0, column] = 0
    now[0, OPEN] = now[0, CHOICE] = NONE
    # Mark the candidate's words that matches without competitors cover.
    for position in range(length_2):
        for covered in range(
            chosen[position, POSITION], chosen[position, POSITION] + chosen[position, IN_CANDIDATE]
        ):
            now[0, USED + covered // LIMB] |= np.int64(1) << (covered % LIMB)
    live, choice_count, upto = 1, 0, length_2
    for position in range(length_2):
        _sort(now, live, width)
        if taken[position] or counts[position] == 0:
            _step(now, live, chosen, position)
            continue
        # Find further matches where those at hand end.
        if not first <= position < upto:
            first = position
            matches, upto = find_matches(
                lookup, candidate, pair.text, pair.begin + first, pair.end, matches, ends
            )
            upto -= pair.begin
        end = ends[position - first]
        offered = _offer_choices(work, now, live, position, matches, end - counts[position], end)
        # Extend each path by its offer: no match, a match that is under way, or a new one.
        for rank in range(offered):
            path, index = offers[ranks[rank], PATH], offers[ranks[rank], MATCH]
            for column in range(DISTANCE + 1):
                then[rank, column] = offers[ranks[rank], column]
            for column in range(DISTANCE + 1, width):
                then[rank, column] = now[path, column]
            if index == NONE:
                then[rank, NEXT] += 1
                then[rank, OPEN] = NONE
            elif index != CARRIED:
                last = matches[index, POSITION] + matches[index, IN_CANDIDATE]
                then[rank, NEXT] = position + matches[index, IN_REFERENCE]
                then[rank, OPEN] = last
                for covered in range(matches[index, POSITION], last):
                    then[rank, USED + covered // LIMB] |= np.int64(1) << (covered % LIMB)
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
    """Pass a word without a choice: its match was taken before, or it has none."""
    first, length = chosen[position, POSITION], chosen[position, IN_REFERENCE]
    worth = _worth(chosen, position)
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
def _worth(matches: Matches, index: int) -> int:
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
            offered = _offer(offers, ranks, offered, total, chunks, distance, path, CARRIED)
            continue
        for index in range(first, end):
            begin = matches[index, POSITION]
            is_free = True
            for covered in range(begin, begin + matches[index, IN_CANDIDATE]):
                is_free &= (states[path, USED + covered // LIMB] >> (covered % LIMB)) & 1 == 0
            for covered in range(position, position + matches[index, IN_REFERENCE]):
                is_free &= not taken[covered]
            if is_free:
                now = total + _worth(matches, index)
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
    """Keep an offer if it is among the best, the first of equals; return the number kept."""
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
            # More words, but fewer chunks and less distance.
            return (states[path, column] > states[other_path, column]) == (column == TOTAL)
    return False


@compiled
def _last_choice_of_best(states: NDArray[np.int64], live: int, width: int) -> int:
    _sort(states, live, width)
    for path in range(live):
        states[path, CHUNKS_SO_FAR] += states[path, OPEN] != NONE
    _sort(states, live, width)
    return states[0, CHOICE]


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
    """Write the statistics (FIELDS,) of the best alignment; return the array of matches, which may have grown."""
    begin_1, begin_2 = lookup.starts[candidate_text], lookup.starts[reference_text]
    length_1, length_2 = (
        lookup.starts[candidate_text + 1] - begin_1,
        lookup.starts[reference_text + 1] - begin_2,
    )
    pair = AlignedTexts(candidate_text, length_1, begin_2, begin_2 + length_2)
    for column in range(FIELDS):
        statistics[column] = 0
    statistics[LENGTH_1], statistics[LENGTH_2] = length_1, length_2
    for at in range(begin_1, begin_1 + length_1):
        statistics[FUNCTION_1] += lookup.is_function[lookup.tokens[at]]
    for at in range(begin_2, begin_2 + length_2):
        statistics[FUNCTION_2] += lookup.is_function[lookup.tokens[at]]
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
    for offset in range(length):
        equal &= lookup.tokens[first + offset] == lookup.tokens[second + offset]
    return equal


@compiled
def _take_only_choices(
    lookup: Lookup,
    candidate: Candidate,
    work: Workspace,
    pair: AlignedTexts,
    matches: Matches,
) -> tuple[int, bool, Matches]:
    """Take the matches without competitors; return where `matches` begins, and whether any choice is left."""
    chosen, counts, taken, ends = work.chosen, work.counts, work.taken, work.ends
    cover_1, cover_2 = work.cover_1, work.cover_2
    length_2 = pair.end - pair.begin
    for position in range(pair.length):
        cover_1[position] = 0
    for position in range(length_2):
        cover_2[position] = 0
        taken[position] = False
    # Find the matches of each word, and count how many cover each word of both texts.
    begin = position = 0
    while position < length_2:
        begin = position
        matches, upto = find_matches(
            lookup, candidate, pair.text, pair.begin + begin, pair.end, matches, ends
        )
        index = 0
        while position < upto - pair.begin:
            counts[position] = ends[position - begin] - index
            if counts[position] == 1:
                for column in range(COLUMNS):
                    chosen[position, column] = matches[index, column]
            while index < ends[position - begin]:
                first = matches[index, POSITION]
                for covered in range(first, first + matches[index, IN_CANDIDATE]):
                    cover_1[covered] += 1
                for covered in range(position, position + matches[index, IN_REFERENCE]):
                    cover_2[covered] += 1
                index += 1
            position += 1
    # Take a match whose words no other one covers.
    is_open = False
    for position in range(length_2):
        alone = counts[position] == 1
        if alone:
            first = chosen[position, POSITION]
            for covered in range(first, first + chosen[position, IN_CANDIDATE]):
                alone &= cover_1[covered] == 1
            for covered in range(position, position + chosen[position, IN_REFERENCE]):
                alone &= cover_2[covered] == 1
        if alone:
            for covered in range(position, position + chosen[position, IN_REFERENCE]):
                taken[covered] = True
        else:
            chosen[position, IN_CANDIDATE] = chosen[position, IN_REFERENCE] = 0
            is_open |= counts[position] > 0
    return begin, is_open, matches


@compiled
def _count(lookup: Lookup, begin_1: int, pair: AlignedTexts, chosen: Matches, statistics: Ints) -> None:
    """Count matches by stage and kind of word, and chunks; `begin_1` is the candidate's first word."""
    is_function = lookup.is_function
    position, open_end = 0, NONE
    while position < pair.end - pair.begin:
        match = chosen[position]
        if match[IN_REFERENCE] == 0:
            statistics[CHUNKS] += open_end != NONE
            open_end = NONE
            position += 1
            continue
        column = MATCHED + PER_STAGE * match[STAGE]
        for at in range(begin_1 + match[POSITION], begin_1 + match[POSITION] + match[IN_CANDIDATE]):
            statistics[column + 2 * is_function[lookup.tokens[at]]] += 1
        for at in range(pair.begin + position, pair.begin + position + match[IN_REFERENCE]):
            statistics[column + 1 + 2 * is_function[lookup.tokens[at]]] += 1
        statistics[CHUNKS] += open_end != NONE and open_end != match[POSITION]
        open_end = match[POSITION] + match[IN_CANDIDATE]
        position += match[IN_REFERENCE]
    statistics[CHUNKS] += open_end != NONE
