"""What METEOR's `-norm` does to captions that are words already: it cuts and joins some of them once more.

Denkowski and Lavie 2011 describe it as a tokenizer for fair comparison; its rules, found in the official
program, keep hyphens from hiding words (`t-shirt` -> `t shirt`), split contractions, and part full stops from
words that are no abbreviations.

A rule never looks across a word of plain letters and digits. So only runs of other words are put through the
rules, each distinct run once, with a letter, a capital or a digit standing for the plain word beside it.
"""

import re
from collections.abc import Mapping

import numpy as np

from evaluation.metrics.corpus import Ints, Words, ranges

_LETTERS = (
    "A-Za-z\u0160\u0161\u017d\u017e\u0178\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e"
    "\u0400-\u04ff\u0500-\u0527\ua640-\ua66e\ua67e-\ua697\u1d00-\u1d7f"
)
_ALPHANUMERIC = "0-9" + _LETTERS
_BLANKS = " \t\n\x0b\f\r"

# In this order; a replacement is not looked at again by its own rule.
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
_CONTROL = "".join(map(chr, range(33)))
_CUT = re.compile(r"[ \t\n\f\r]+")


def normalised_line(line: str, abbreviations: Mapping[str, bool]) -> list[str]:
    """The words of a line of words, in lower case."""
    text = f" {line.strip(_CONTROL)} "
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    pieces = [piece for piece in _CUT.split(text) if piece]
    following = [*pieces[1:], ""]
    parted = [_stopped(piece, after, abbreviations) for piece, after in zip(pieces, following, strict=False)]
    text = _OTHER_BLANKS.sub(" ", " ".join(parted)).strip(_CONTROL)
    return [word for word in _CUT.split(text.lower()) if word]


def _stopped(word: str, following: str, abbreviations: Mapping[str, bool]) -> str:
    """A word with its full stop: kept, parted from it by a blank, or dropped (`u.s.`)."""
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


def normalised(words: Words, abbreviations: Mapping[str, bool]) -> Words:
    """All texts put through the rules."""
    plain = np.array([_PLAIN.fullmatch(word) is not None for word in words.vocabulary], dtype=np.bool_)
    known: dict[str, int] = {}
    number = [
        known.setdefault(word.lower(), len(known)) if is_plain else -1
        for word, is_plain in zip(words.vocabulary, plain.tolist(), strict=True)
    ]
    odd = ~plain[words.words]
    if not odd.any():
        return Words(np.array(number, dtype=np.int32)[words.words], words.starts, list(known))
    begins, ends = _runs(odd, words.starts)
    made = _made(words, begins, ends, known, abbreviations)
    counts = np.where(odd, 0, 1)
    counts[begins] = lengths = np.array([len(run) for run in made], dtype=np.int64)
    before = np.concatenate(([0], np.cumsum(counts)))
    new = np.empty(before[-1], dtype=np.int32)
    new[before[:-1][~odd]] = np.array(number, dtype=np.int32)[words.words[~odd]]
    new[ranges(before[begins], lengths)] = np.array([word for run in made for word in run], dtype=np.int32)
    return Words(new, before[words.starts], list(known))


def _runs(odd: np.ndarray, starts: Ints) -> tuple[Ints, Ints]:
    """Where each run of odd words within a text begins and ends."""
    first = np.zeros(odd.size + 1, dtype=np.bool_)
    first[starts] = True
    begins = odd.copy()
    begins[1:] &= ~odd[:-1] | first[1:-1]
    ends = odd.copy()
    ends[:-1] &= ~odd[1:] | first[1:-1]
    return np.flatnonzero(begins), np.flatnonzero(ends) + 1


def _made(
    words: Words, begins: Ints, ends: Ints, known: dict[str, int], abbreviations: Mapping[str, bool]
) -> list[list[int]]:
    """The new words of each run."""
    text = np.searchsorted(words.starts, begins, side="right") - 1
    left = np.where(begins > words.starts[text], "a", "")
    last = ends == words.starts[text + 1]
    vocabulary = words.vocabulary
    beside = np.array([_stand_in(word) for word in vocabulary])
    right = np.where(last, "", beside[words.words[np.where(last, 0, ends)]])
    seen: dict[tuple[tuple[int, ...], str, str], list[int]] = {}
    made = []
    flat = words.words
    for begin, end, before, after in zip(
        begins.tolist(), ends.tolist(), left.tolist(), right.tolist(), strict=True
    ):
        run = tuple(flat[begin:end].tolist())
        found = seen.get((run, before, after))
        if found is None:
            line = " ".join([before, *(vocabulary[word] for word in run), after])
            new = normalised_line(line, abbreviations)
            new = new[len(before) : len(new) - len(after)]
            found = [known.setdefault(word, len(known)) for word in new]
            seen[run, before, after] = found
        made.append(found)
    return made


def _stand_in(word: str) -> str:
    """One plain word for all that full stops treat alike: they look at the first letter that follows."""
    return "a" if "a" <= word[:1] <= "z" else "0" if "0" <= word[:1] <= "9" else "A"
