"""The tokenizer of the MS COCO caption evaluation, without Java.

The evaluation runs Stanford's PTBTokenizer (CoreNLP 3.4.1) with `-preserveLines -lowerCase` and drops punctuation.
`ptb_rules` says which part of a text is the next token, `ptb_spelling` how the program writes it.

In the program a carriage return or U+2028 in a caption shifts all later captions to other images; here every line
break is a blank. Tokens that hold a blank (`1 1/2`) hold U+00A0, as in the program.
"""

import re
from functools import lru_cache
from itertools import chain

from quorum.metrics.text.ptb_data import ABBREVIATIONS, BEYOND_ASCII
from quorum.metrics.text.ptb_rules import GLUED, PARTS, URL_INSIDE, rules_at
from quorum.metrics.text.ptb_spelling import SPELLED, spelled_tokens

# The evaluation's list also names -LRB-, -RRB-, -LCB- and -RCB-, but in capitals: brackets come out of the
# program in lower case and stay in the captions.
PUNCTUATION = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])

LONGEST_TEMPLATE = 64  # bytes; bounds the memory of the cache

_IGNORED = re.compile(
    "[^!-~{}]+".format(
        "".join(BEYOND_ASCII.values()) + "".join(key for key in SPELLED if len(key) == 1 and key > "~")
    )
)

# Letters, perhaps with hyphens, perhaps with one mark behind: one word, unless it is among those below.
_PLAIN = re.compile("(?:{L}{{2,}}(?:-{L}+)*)?[.,]?".format(**PARTS))

_NOT_PLAIN = frozenset([*GLUED, *chain.from_iterable(ABBREVIATIONS.values())])

# A word, unless it is among those: no rule goes on behind it, or behind a mark that follows it.
_ALONE = re.compile(
    rf"{{L}}{{A}}++(?!{URL_INSIDE}{{{{0,100}}}}@)"
    r"(?![.,:;!?]?+(?:{A}|{APOS}|{AMP}|{HYPHEN}|{SLASH}|[.,:;!?`\u2018_+$]))".format(**PARTS)
)

_NO_DIGITS = bytes(set(range(256)) - set(b"0123456789"))
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


def raw_tokens(caption: str) -> list[str]:
    """Return what the program prints for a caption, punctuation included."""
    text = caption.replace("\xad", "")
    tokens: list[str] = []
    at = 0
    while at < len(text):
        ignored = _IGNORED.match(text, at)
        if ignored:
            at = ignored.end()
            continue
        alone = _ALONE.match(text, at)
        if alone and alone.group().lower() not in _NOT_PLAIN:
            at = alone.end()
            tokens.append(alone.group().lower())
            continue
        token = _longest(text, at)
        at += len(token)
        tokens.extend(spelled_tokens(token, text, at))
    return tokens


def ptb_tokens(caption: str) -> list[str]:
    return [token for token in raw_tokens(caption) if token not in PUNCTUATION]


def ptb_piece(text: str) -> list[str]:
    """Cut a blank-separated piece; those that differ in digits alone are cut once."""
    if _PLAIN.fullmatch(text):
        word = text.rstrip(".,").lower()
        if word not in _NOT_PLAIN:
            return [word] if word else []
    raw = text.encode("utf-8", "surrogatepass")
    digits = raw.translate(None, _NO_DIGITS)
    if not digits or len(raw) > LONGEST_TEMPLATE or "\n" in text:
        return ptb_tokens(text)
    return (_template(raw.translate(_ZEROS)) % tuple(digits)).split("\n")


@lru_cache(maxsize=1 << 14)
def _template(raw: bytes) -> str:
    """Return the tokens, one a line, with %c for each 0: no rule tells ASCII digits apart."""
    return "\n".join(ptb_tokens(raw.decode("utf-8", "surrogatepass"))).replace("%", "%%").replace("0", "%c")


def _longest(text: str, at: int) -> str:
    best, reach = text[at], at + 1
    for rule in rules_at(text[at]):
        match = rule.match(text, at)
        if match is not None and match.end() > reach:
            best, reach = (match.group(1) if rule.groups else None) or match.group(), match.end()
    return best
