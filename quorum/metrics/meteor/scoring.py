"""METEOR 1.5 (Denkowski, Lavie 2014; V15 eq. 16-20), with the official parameters for English (task "rank").

Matches are weighted by stage, content words by delta and function words by 1 - delta:

    F = P R / (alpha P + (1 - alpha) R),  Pen = gamma (chunks / matches) ^ beta,  METEOR = (1 - Pen) F

METEOR's option `-norm` splits and joins words again (Denkowski, Lavie 2011). Its rules were found in the official
program. They split hyphens (`t-shirt` becomes `t shirt`), contractions, and full stops of words that are not
abbreviations. No rule looks past a plain word, which has only letters and digits. So only runs of other words are
processed, each distinct run once. The plain word before or after a run is replaced by a small letter, a capital or a
digit (`_placeholder_of`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorum.metrics.comparison import Comparison, View
from quorum.metrics.inputs import MissingTables
from quorum.metrics.meteor.alignment import (
    CHUNKS,
    FIELDS,
    FUNCTION_1,
    FUNCTION_2,
    LENGTH_1,
    LENGTH_2,
    MATCHED,
    PER_STAGE,
    align,
)
from quorum.metrics.meteor.beam_search import workspace
from quorum.metrics.meteor.matches import COLUMNS, CandidateWords, Lookup, enter_candidate, leave_candidate
from quorum.metrics.meteor.relations import ALL, PARAPHRASE, STAGE_CHOICES, STAGES, SYNONYM, relations
from quorum.metrics.meteor.tables import (
    DATA,
    MAX_PHRASE_LENGTH,
    Tables,
    available_tables,
    no_phrases,
    phrases_in,
)
from quorum.metrics.text.tokens import TokenizedTexts
from quorum.numeric.arrays import Flags, Floats, Ints, Numbers
from quorum.numeric.compiling import compiled

_LETTERS = (
    "A-Za-z\u0160\u0161\u017d\u017e\u0178\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e"
    "\u0400-\u04ff\u0500-\u0527\ua640-\ua66e\ua67e-\ua697\u1d00-\u1d7f"
)
_ALPHANUMERIC = "0-9" + _LETTERS
_BLANKS = " \t\n\x0b\f\r"

# Rules are applied in this order. A rule is not applied to its own replacements.
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"([^{_ALPHANUMERIC}{_BLANKS}.'`,\-\u2018\u2019])", r" \1 "),
        (r"(\.{2,})", r" \1 "),
        (r"([^0-9]),([^0-9])", r"\1 , \2"),
        (r"([0-9]),([^0-9])", r"\1 , \2"),
        (r"([^0-9]),([0-9])", r"\1 , \2"),
        ("[`\u2018\u2019]", "'"),
        ("[\u201c\u201d]|''", ' " '),
        ("\u2013", "-"),
        ("--", "-"),
        (rf"([{_ALPHANUMERIC}.])-([{_ALPHANUMERIC}])", r"\1 \2"),
        (rf"([^{_LETTERS}])'([^{_LETTERS}])", r"\1 ' \2"),
        (rf"([^{_LETTERS}0-9])'([{_LETTERS}])", r"\1 ' \2"),
        (rf"([{_LETTERS}])'([^{_LETTERS}])", r"\1 ' \2"),
        (rf"([{_LETTERS}])'([{_LETTERS}])", r"\1 '\2"),
        (r"([0-9])'s", r"\1 's"),
    )
)
_LETTER = re.compile(f"[{_LETTERS}]")
_PLAIN = re.compile("[0-9A-Za-z]+")
_OTHER_BLANKS = re.compile("[ \xa0\u2000-\u200a\u202f\u205f\u3000]+")
_CONTROL_CHARACTERS = "".join(map(chr, range(33)))
_ASCII_BLANKS = re.compile(r"[ \t\n\f\r]+")
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
MATCHES_PER_BATCH = 500_000  # number of matches kept in memory at once
WEIGHTS = (1.0, 0.6, 0.8, 0.6)  # weights by stage
_WEIGHTS = np.array(WEIGHTS)


def normalised_line(line: str, abbreviations: Mapping[str, bool]) -> list[str]:
    """Return the words of a line as METEOR's option `-norm` writes them."""
    text = f" {line.strip(_CONTROL_CHARACTERS)} "
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    pieces = [piece for piece in _ASCII_BLANKS.split(text) if piece]
    following = [*pieces[1:], ""]
    pieces_with_stops = [
        _with_full_stop(piece, after, abbreviations) for piece, after in zip(pieces, following, strict=False)
    ]
    text = _OTHER_BLANKS.sub(" ", " ".join(pieces_with_stops)).strip(_CONTROL_CHARACTERS)
    return [word for word in _ASCII_BLANKS.split(text.lower()) if word]


def _with_full_stop(word: str, following: str, abbreviations: Mapping[str, bool]) -> str:
    """Return the word with its full stop, either unchanged or separated by a blank.

    An acronym (`u.s.`) loses its full stops.
    """
    if len(word) == 1 or not word.endswith(".") or word.startswith(".."):
        return word
    stem = word[:-1]
    if "." in stem and _LETTER.search(stem):
        return word.replace(".", "")
    only_before_numbers = abbreviations.get(stem)
    if only_before_numbers is False or "a" <= following[:1] <= "z":
        return word
    if only_before_numbers and "0" <= following[:1] <= "9":
        return word
    return f"{stem} ."


def normalise_texts(texts: TokenizedTexts, abbreviations: Mapping[str, bool]) -> TokenizedTexts:
    """Return the texts with the words of METEOR's option `-norm`."""
    plain = np.array([_PLAIN.fullmatch(word) is not None for word in texts.vocabulary], dtype=np.bool_)
    words: dict[str, int] = {}
    new_number_of_word = [
        words.setdefault(word.lower(), len(words)) if is_plain else -1
        for word, is_plain in zip(texts.vocabulary, plain.tolist(), strict=True)
    ]
    begins, ends = _runs(texts.tokens, texts.starts, plain)
    runs, new_tokens, new_ends = _new_words(texts, begins, ends, words, abbreviations)
    new_numbers = np.array(new_number_of_word, dtype=np.int32)
    tokens, starts = _splice_runs(
        texts.tokens, texts.starts, new_numbers, begins, ends, runs, new_tokens, new_ends
    )
    return TokenizedTexts(tokens, starts, list(words))


@compiled
def _runs(tokens: Numbers, starts: Ints, is_plain: Flags) -> tuple[Ints, Ints]:
    """Return the starts and ends of all runs of words that are not plain. A run does not extend beyond its text."""
    begins = np.empty(tokens.size, dtype=np.int64)
    ends = np.empty(tokens.size, dtype=np.int64)
    run_count = 0
    for text in range(starts.size - 1):
        is_inside = False
        for position in range(starts[text], starts[text + 1]):
            if is_plain[tokens[position]]:
                is_inside = False
                continue
            if not is_inside:
                begins[run_count] = position
                run_count += 1
                is_inside = True
            ends[run_count - 1] = position + 1
    return begins[:run_count].copy(), ends[:run_count].copy()


def _new_words(
    texts: TokenizedTexts, begins: Ints, ends: Ints, words: dict[str, int], abbreviations: Mapping[str, bool]
) -> tuple[Numbers, Numbers, Ints]:
    """Return each run's number among the distinct runs, the normalised words of the distinct runs, and their bounds."""
    text = np.searchsorted(texts.starts, begins, side="right") - 1
    # Placeholders of the plain words before and after each run; "" at the ends of a text.
    left = np.where(begins > texts.starts[text], "a", "")
    is_last = ends == texts.starts[text + 1]
    vocabulary = texts.vocabulary
    placeholders = np.array([_placeholder_of(word) for word in vocabulary])
    right = placeholders[texts.tokens[np.where(is_last, 0, ends)]] if begins.size else left
    right[is_last] = ""
    runs = np.empty(begins.size, dtype=np.int32)
    numbers: dict[tuple[tuple[int, ...], str, str], int] = {}
    new_tokens: list[int] = []
    new_ends = [0]
    for index, (begin, end, before, after) in enumerate(zip(begins, ends, left, right, strict=True)):
        run = tuple(texts.tokens[begin:end].tolist())
        key = (run, str(before), str(after))
        if key not in numbers:
            line = " ".join([before, *(vocabulary[word] for word in run), after])
            new_words = normalised_line(line, abbreviations)
            new_tokens += [
                words.setdefault(word, len(words))
                for word in new_words[len(before) : len(new_words) - len(after)]
            ]
            numbers[key] = len(new_ends) - 1
            new_ends.append(len(new_tokens))
        runs[index] = numbers[key]
    return runs, np.array(new_tokens, dtype=np.int32), np.array(new_ends, dtype=np.int64)


@compiled
def _splice_runs(
    tokens: Numbers,
    starts: Ints,
    new_numbers: Numbers,
    begins: Ints,
    ends: Ints,
    runs: Numbers,
    new_tokens: Numbers,
    new_ends: Ints,
) -> tuple[Numbers, Ints]:
    """Return the texts with every run replaced by its normalised words, and all other words renumbered."""
    size = tokens.size
    for index in range(runs.size):
        size += new_ends[runs[index] + 1] - new_ends[runs[index]] - (ends[index] - begins[index])
    new_words = np.empty(size, dtype=np.int32)
    new_starts = np.zeros(starts.size, dtype=np.int64)
    position = index = 0
    for text in range(starts.size - 1):
        old_position = starts[text]
        while old_position < starts[text + 1]:
            if index < begins.size and old_position == begins[index]:
                for word in range(new_ends[runs[index]], new_ends[runs[index] + 1]):
                    new_words[position] = new_tokens[word]
                    position += 1
                old_position = ends[index]
                index += 1
            else:
                new_words[position] = new_numbers[tokens[old_position]]
                position += 1
                old_position += 1
        new_starts[text + 1] = position
    return new_words, new_starts


def _placeholder_of(word: str) -> str:
    """Return a placeholder of a plain word: "a", "A" or "0", which has the same effect on a full stop before it."""
    if "a" <= word[:1] <= "z":
        return "a"
    return "0" if "0" <= word[:1] <= "9" else "A"


@dataclass(frozen=True, slots=True)
class MeteorStatistics:
    """Counts of each candidate with its best reference, for METEOR. `alignment` documents the columns."""

    counts: NDArray[np.int64]


def available_stages() -> int:
    """Return the number of stages that the installed tables support, without reading the tables."""
    tables = available_tables()
    if tables.paraphrases:
        return len(STAGES)
    return PARAPHRASE if tables.synonyms else SYNONYM


def stages_named(name: str) -> int:
    """Return the number of stages of ALL, or of one of STAGE_CHOICES, without reading tables.

    Raise MissingTables if a stage needs a table that is not installed.
    """
    available = available_stages()
    count = len(STAGES) if name == ALL else STAGE_CHOICES.index(name) + 1
    if count > available:
        raise MissingTables(
            f"meteor needs its {STAGES[available]} table, which is not installed; get the tables by `pip install -r "
            f"requirements-meteor.txt` (104 MB), or point {DATA} to METEOR 1.5, or ask for "
            f"meteor|stages:{STAGE_CHOICES[available - 1]}, a shorter form that needs no more than what is there"
        )
    return count


def meteor_statistics(
    comparison: Comparison, view: View, tables: Tables, stages: int, enough: int = MATCHES_PER_BATCH
) -> MeteorStatistics:
    """Align every candidate with its references by the first `stages` stages, and keep the best reference of each.

    Of equally good references, the first is kept. About `enough` matches of two long texts are kept in memory at once.
    """
    tokens = comparison.cached_result(
        ("meteor", view, tables.digest),
        lambda: normalise_texts(comparison.tokens(view), tables.abbreviations),
    )
    word_relations = relations(tokens.vocabulary, stages, tables.synonyms)
    phrases = no_phrases()
    if stages > PARAPHRASE and tables.paraphrases is not None:
        phrases = phrases_in(tokens, tables.paraphrases)
    is_function = np.array([word in tables.function_words for word in tokens.vocabulary], dtype=np.bool_)
    lookup = Lookup(tokens.tokens, tokens.starts, is_function, word_relations, phrases, enough)
    return MeteorStatistics(_best_references(lookup, comparison.group_of, comparison.group_starts, _WEIGHTS))


def meteor_scores(statistics: MeteorStatistics) -> Floats:
    return _scores(statistics.counts, _WEIGHTS)


def pooled_statistics(statistics: MeteorStatistics) -> MeteorStatistics:
    """Return the counts summed over all candidates, as one row.

    The single chunk of a perfect match is not counted.
    """
    counts = statistics.counts
    total = counts.sum(axis=0, keepdims=True)
    total[0, CHUNKS] -= np.count_nonzero(_is_perfect(counts))
    return MeteorStatistics(total)


def _is_perfect(counts: NDArray[np.int64]) -> Flags:
    in_candidate = counts[:, MATCHED:CHUNKS:2].sum(axis=1)
    in_reference = counts[:, MATCHED + 1 : CHUNKS : 2].sum(axis=1)
    is_whole = (in_candidate == counts[:, LENGTH_1]) & (in_reference == counts[:, LENGTH_2])
    return np.asarray(is_whole & (counts[:, CHUNKS] == 1))


@compiled
def _best_references(
    lookup: Lookup, group_of: Ints, group_starts: Ints, weights: Floats
) -> NDArray[np.int64]:
    best = np.zeros((group_of.size, FIELDS), dtype=np.int64)
    longest = longest_reference = 1
    for text in range(lookup.starts.size - 1):
        length = lookup.starts[text + 1] - lookup.starts[text]
        if text < group_of.size:
            longest = max(longest, length)
        else:
            longest_reference = max(longest_reference, length)
    candidate = CandidateWords(
        np.full(lookup.is_function.size, -1, dtype=np.int32),
        np.empty(longest, dtype=np.int32),
        np.full(lookup.phrases.lengths.size, -1, dtype=np.int32),
        np.empty(longest * MAX_PHRASE_LENGTH, dtype=np.int32),
        np.empty(longest * MAX_PHRASE_LENGTH, dtype=np.int32),
        np.full(lookup.phrases.lengths.size, -1, dtype=np.int32),
        np.full(lookup.phrases.lengths.size, -1, dtype=np.int32),
    )
    work = workspace(longest, longest_reference)
    matches = np.empty((64, COLUMNS), dtype=np.int64)
    statistics = np.zeros(FIELDS, dtype=np.int64)
    for text in range(group_of.size):
        enter_candidate(lookup, candidate, text)
        highest = -1.0
        for reference in range(group_starts[group_of[text]], group_starts[group_of[text] + 1]):
            matches = align(lookup, candidate, work, text, reference, matches, statistics)
            score = _score(_terms(statistics, weights))
            if score > highest:
                highest = score
                for column in range(FIELDS):
                    best[text, column] = statistics[column]
        leave_candidate(lookup, candidate, text)
    return best


@compiled
def _scores(counts: NDArray[np.int64], weights: Floats) -> Floats:
    scores = np.empty(counts.shape[0])
    for row in range(counts.shape[0]):
        scores[row] = _score(_terms(counts[row], weights))
    return scores


class _Terms(NamedTuple):
    """P, R, F and Pen of the module's formula, all 0 without a match."""

    precision: float
    recall: float
    mean: float
    penalty: float


@compiled
def _terms(counts: Ints, weights: Floats) -> _Terms:
    weighted = np.zeros(2)
    matched = np.zeros(2)
    for kind in range(2):  # content words, then function words: add in the program's order
        for stage in range(weights.size):
            for side in range(2):
                count = counts[MATCHED + PER_STAGE * stage + 2 * kind + side]
                weighted[side] += count * weights[stage] * (DELTA if kind == 0 else 1.0 - DELTA)
                matched[side] += count
    if weighted[0] == 0.0 or weighted[1] == 0.0:
        return _Terms(0.0, 0.0, 0.0, 0.0)
    functions = (counts[FUNCTION_1], counts[FUNCTION_2])
    content = (counts[LENGTH_1] - functions[0], counts[LENGTH_2] - functions[1])
    precision = weighted[0] / (DELTA * content[0] + (1.0 - DELTA) * functions[0])
    recall = weighted[1] / (DELTA * content[1] + (1.0 - DELTA) * functions[1])
    mean = 1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall)
    is_whole = matched[0] == counts[LENGTH_1] and matched[1] == counts[LENGTH_2] and counts[CHUNKS] == 1
    fragmentation = 0.0 if is_whole else counts[CHUNKS] / ((matched[0] + matched[1]) / 2)
    return _Terms(precision, recall, mean, GAMMA * fragmentation**BETA)


@compiled
def _score(terms: _Terms) -> float:
    return terms.mean * (1.0 - terms.penalty)
