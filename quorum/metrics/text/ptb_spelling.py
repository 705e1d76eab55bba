"""Write tokens as Stanford's PTBTokenizer does: brackets, quotes, currencies, the end of a sentence."""

import re

from quorum.metrics.text.ptb_data import TITLES
from quorum.metrics.text.ptb_rules import CONTRACTIONS, EXPRESSIONS

SPELLINGS = {
    "(": "-lrb-",
    ")": "-rrb-",
    "[": "-lsb-",
    "]": "-rsb-",
    "{": "-lcb-",
    "}": "-rcb-",
    "\xa2": "cents",
    "\xa3": "#",
    "\xbc": "1/4",
    "\xbd": "1/2",
    "\xbe": "3/4",
    "\u2153": "1/3",
    "\u2154": "2/3",
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
    "&mdash;": "--",
    "&ndash;": "--",
    **dict.fromkeys("\u2013\u2014\u2015\x96\x97", "--"),
    **dict.fromkeys("\u20ac\xa4\u20a0\x80", "$"),
    **dict.fromkeys("\u2018\u201b\u2039\x91", "`"),
    **dict.fromkeys("\u2019\u203a\x92", "'"),
    **dict.fromkeys("\u201c\xab\x93", "``"),
    **dict.fromkeys("\u201d\xbb\x94", "''"),
    **dict.fromkeys("\u2026\x85", "..."),
}

_AFTER_OPENING_DOUBLE_QUOTE = re.compile("[A-Za-z0-9$]")
_AFTER_OPENING_QUOTE = re.compile(r"[A-Za-z]\S")
_DOTS = re.compile(r"\.(?:\s*\.){2,}")
_CURLED_QUOTES = re.compile("[{CURLED}]+".format(**EXPRESSIONS))
_DASHES = re.compile("--+")
_AUXILIARY = re.compile("n.t|['\u2019\x92](?:s|m|d|ll|ve|re)")
_NEXT_CAPITAL = re.compile(r"\s+[A-Z]")
_NEXT_STARTER = re.compile(r"\s+(?:{STARTER})(?!{A})".format(**EXPRESSIONS))  # words that begin sentences
_INITIALS = re.compile(r"(?:[a-z]\.)+|ph\.?d\.|ed\.d\.")


def spelled_tokens(word: str, text: str, end: int) -> list[str]:
    """Return a token of the text as the program writes it, perhaps as several. The token ends at position `end`."""
    lower = word.lower()
    if lower in CONTRACTIONS:
        cut = CONTRACTIONS[lower]
        return [lower[:cut], lower[cut:]]
    if lower == "&nbsp;":
        return []
    if word in ('"', "&quot;"):
        return ["``" if _AFTER_OPENING_DOUBLE_QUOTE.match(text, end) else "''"]
    if word == "'":
        return ["`" if _AFTER_OPENING_QUOTE.match(text, end) else "'"]
    if word in SPELLINGS:
        return [SPELLINGS[word]]
    if _CURLED_QUOTES.fullmatch(word):
        return ["".join(SPELLINGS[mark] for mark in word)]
    if _DOTS.fullmatch(word):
        return ["..."]
    if _DASHES.fullmatch(word):
        return ["--"]
    lower = lower.replace("&apos;", "'").replace("&amp;", "&").replace(" ", "\xa0")  # "5 1/2" is one token
    if _AUXILIARY.fullmatch(lower):
        lower = lower.replace("\u2019", "'").replace("\x92", "'").replace("\u2018", "`")
    if len(lower) > 1:  # a telephone number or a smiley
        lower = lower.replace("(", "-lrb-").replace(")", "-rrb-")
    return [lower, "."] if lower.endswith(".") and _ends_sentence(lower, text, end) else [lower]


def _ends_sentence(abbreviation: str, text: str, end: int) -> bool:
    """Return whether the full stop of an abbreviation, which ends at position `end`, also ends a sentence."""
    if len(abbreviation) == 1 or abbreviation in TITLES:
        return False
    next_word = _NEXT_STARTER if _INITIALS.fullmatch(abbreviation) else _NEXT_CAPITAL
    return next_word.match(text, end) is not None
