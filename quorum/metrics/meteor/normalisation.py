"""The words of texts as METEOR's option `-norm` writes them (Denkowski, Lavie 2011).

The option splits and joins words again. Its rules were found in the official program. They split hyphens (`t-shirt`
becomes `t shirt`), contractions, and full stops of words that are not abbreviations. No rule looks past a plain word,
which has only letters and digits. So only runs of other words are processed, each distinct run once. The plain word
before or after a run is replaced by a placeholder: a small letter, a capital or a digit (`_placeholder_of`).
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from quorum.metrics.text.tokens import TokenizedTexts
from quorum.numeric.arrays import Flags, Ints, Numbers
from quorum.numeric.compiling import compiled

# Latin, Cyrillic and phonetic letters.
_LETTERS = (
    "A-Za-z\u0160\u0161\u017d\u017e\u0178\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e"
    "\u0400-\u04ff\u0500-\u0527\ua640-\ua66e\ua67e-\ua697\u1d00-\u1d7f"
)
_ALPHANUMERIC = "0-9" + _LETTERS
_BLANKS = " \t\n\x0b\f\r"

# Rules are applied in this order. A rule is not applied to its own replacements. They set apart marks (but for those
# that later rules treat), runs of full stops, and commas unless both neighbours are digits; write apostrophes,
# quotes and dashes in one way; replace hyphens within words by blanks; and cut words at apostrophes (`dog 's`).
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
_ANY_LETTER = re.compile(f"[{_LETTERS}]")
_PLAIN_WORD = re.compile("[0-9A-Za-z]+")
_UNICODE_BLANKS = re.compile("[ \xa0\u2000-\u200a\u202f\u205f\u3000]+")
_CONTROL_CHARACTERS = "".join(map(chr, range(33)))
_ASCII_BLANKS = re.compile(r"[ \t\n\f\r]+")


def normalised_line(line: str, abbreviations: Mapping[str, bool]) -> list[str]:
    text = f" {line.strip(_CONTROL_CHARACTERS)} "  # rules need a character on both sides
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    pieces = [piece for piece in _ASCII_BLANKS.split(text) if piece]
    next_pieces = [*pieces[1:], ""]
    pieces_with_stops = [
        _treat_full_stop(piece, next_piece, abbreviations)
        for piece, next_piece in zip(pieces, next_pieces, strict=False)
    ]
    text = _UNICODE_BLANKS.sub(" ", " ".join(pieces_with_stops)).strip(_CONTROL_CHARACTERS)
    return [word for word in _ASCII_BLANKS.split(text.lower()) if word]


def _treat_full_stop(word: str, next_word: str, abbreviations: Mapping[str, bool]) -> str:
    """Return the word unchanged, or with its full stop separated by a blank if this ends a sentence.

    No sentence ends before a small letter, or after an abbreviation. An abbreviation with the value True in
    `abbreviations` (`MeteorTables`) counts only before a number. An acronym (`u.s.`) loses its full stops.
    """
    if len(word) == 1 or not word.endswith(".") or word.startswith(".."):
        return word
    stem = word[:-1]
    if "." in stem and _ANY_LETTER.search(stem):
        return word.replace(".", "")
    only_before_numbers = abbreviations.get(stem)  # None if the stem is no abbreviation
    if only_before_numbers is False or "a" <= next_word[:1] <= "z":
        return word
    if only_before_numbers and "0" <= next_word[:1] <= "9":
        return word
    return f"{stem} ."


def normalise_texts(texts: TokenizedTexts, abbreviations: Mapping[str, bool]) -> TokenizedTexts:
    is_plain = np.array(
        [_PLAIN_WORD.fullmatch(word) is not None for word in texts.vocabulary], dtype=np.bool_
    )
    # The new vocabulary, and the number of each word in it. `_normalise_runs` adds the words of the runs.
    number_by_word: dict[str, int] = {}
    new_numbers = [
        number_by_word.setdefault(word.lower(), len(number_by_word)) if word_is_plain else -1
        for word, word_is_plain in zip(texts.vocabulary, is_plain.tolist(), strict=True)
    ]
    runs = _find_runs(texts.tokens, texts.starts, is_plain)
    normalised_runs = _normalise_runs(texts, runs, number_by_word, abbreviations)
    tokens, starts = _replace_runs(
        texts.tokens, texts.starts, np.array(new_numbers, dtype=np.int32), runs, normalised_runs
    )
    return TokenizedTexts(tokens, starts, list(number_by_word))


class _Runs(NamedTuple):
    """Runs of words that are not plain: the position of each run's first token, and the end of the run."""

    begins: Ints
    ends: Ints


class _NormalisedRuns(NamedTuple):
    """The words of runs after normalisation, of which equal runs share one entry.

    distinct_run: (runs,) entry of each run. Entry e has the words tokens[starts[e]:starts[e + 1]].
    """

    distinct_run: Numbers
    tokens: Numbers
    starts: Ints


@compiled
def _find_runs(tokens: Numbers, starts: Ints, is_plain: Flags) -> _Runs:
    """Return all runs of words that are not plain. A run does not extend beyond its text."""
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
    return _Runs(begins[:run_count].copy(), ends[:run_count].copy())


def _normalise_runs(
    texts: TokenizedTexts,
    runs: _Runs,
    number_by_word: dict[str, int],
    abbreviations: Mapping[str, bool],
) -> _NormalisedRuns:
    """Return the normalised words of all runs, and add new words to `number_by_word`."""
    begins, ends = runs
    text_of_run = np.searchsorted(texts.starts, begins, side="right") - 1
    # Placeholders of the plain words before and after each run; "" at the ends of a text. Which word comes before a run
    # does not matter to any rule.
    placeholders_before = np.where(begins > texts.starts[text_of_run], "a", "")
    is_at_end = ends == texts.starts[text_of_run + 1]
    vocabulary = texts.vocabulary
    placeholders = np.array([_placeholder_of(word) for word in vocabulary])
    next_positions = np.where(is_at_end, 0, ends)  # at the end of a text any position, as "" is written below
    placeholders_after = placeholders[texts.tokens[next_positions]] if begins.size else placeholders_before
    placeholders_after[is_at_end] = ""
    distinct_run = np.empty(begins.size, dtype=np.int32)
    entries: dict[tuple[tuple[int, ...], str, str], int] = {}
    new_tokens: list[int] = []
    new_starts = [0]
    for index, (begin, end, before, after) in enumerate(
        zip(begins, ends, placeholders_before, placeholders_after, strict=True)
    ):
        run = tuple(texts.tokens[begin:end].tolist())
        key = (run, str(before), str(after))
        if key not in entries:
            line = " ".join([before, *(vocabulary[word] for word in run), after])
            words_with_placeholders = normalised_line(line, abbreviations)
            # A placeholder has one letter or none, so its length says whether there is one to leave out.
            new_words = words_with_placeholders[len(before) : len(words_with_placeholders) - len(after)]
            new_tokens += [number_by_word.setdefault(word, len(number_by_word)) for word in new_words]
            entries[key] = len(new_starts) - 1
            new_starts.append(len(new_tokens))
        distinct_run[index] = entries[key]
    return _NormalisedRuns(
        distinct_run, np.array(new_tokens, dtype=np.int32), np.array(new_starts, dtype=np.int64)
    )


@compiled
def _replace_runs(
    tokens: Numbers, starts: Ints, new_numbers: Numbers, runs: _Runs, normalised_runs: _NormalisedRuns
) -> tuple[Numbers, Ints]:
    """Return the texts with every run replaced by its normalised words, and all other words renumbered."""
    begins, ends = runs
    distinct_run, run_tokens, run_starts = normalised_runs
    size = tokens.size
    for index in range(distinct_run.size):
        entry = distinct_run[index]
        size += run_starts[entry + 1] - run_starts[entry] - (ends[index] - begins[index])
    new_words = np.empty(size, dtype=np.int32)
    new_starts = np.zeros(starts.size, dtype=np.int64)
    position = index = 0
    for text in range(starts.size - 1):
        old_position = starts[text]
        while old_position < starts[text + 1]:
            if index < begins.size and old_position == begins[index]:
                entry = distinct_run[index]
                for word in range(run_starts[entry], run_starts[entry + 1]):
                    new_words[position] = run_tokens[word]
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
    """Return "a", "A" or "0": a word that has the same effect as a plain word on a full stop before it."""
    if "a" <= word[:1] <= "z":
        return "a"
    return "0" if "0" <= word[:1] <= "9" else "A"
