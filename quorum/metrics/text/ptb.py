"""The tokenizer of the MS COCO caption evaluation, without Java.

The evaluation runs Stanford's PTBTokenizer (CoreNLP 3.4.1) with `-preserveLines -lowerCase` and drops punctuation.
`ptb_rules` finds the next token of a text, and `ptb_spelling` writes it as the program does.

In the program, a carriage return or U+2028 in a caption shifts all later captions to other images. This module treats
every line break as a blank. A blank inside a token (`1 1/2`) is written as U+00A0, as in the program.
"""

import re
from itertools import chain

from quorum.metrics.text.ptb_data import ABBREVIATIONS, NON_ASCII_CLASSES
from quorum.metrics.text.ptb_rules import CONTRACTIONS, EXPRESSIONS, URL_INSIDE, rules_at
from quorum.metrics.text.ptb_spelling import SPELLINGS, spelled_tokens

# The evaluation's list also has -LRB-, -RRB-, -LCB- and -RCB-, but in capitals. The program writes brackets in lower
# case, so they stay in the captions.
PUNCTUATION = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])

# Characters that are neither printable ASCII, nor of a class of NON_ASCII_CLASSES, nor respelled.
_IGNORED_TEXT = re.compile(
    "[^!-~{}]+".format(
        "".join(NON_ASCII_CLASSES.values()) + "".join(key for key in SPELLINGS if len(key) == 1 and key > "~")
    )
)

# Contractions and abbreviations, which other rules split or write differently.
SPECIAL_WORDS = frozenset([*CONTRACTIONS, *chain.from_iterable(ABBREVIATIONS.values())])

# A word that is a token for sure, since no rule continues after the word, or after a mark that follows it. `format`
# fills in EXPRESSIONS, so other braces are doubled, and doubled again in the f-string. `++` and `?+` do not backtrack.
_SINGLE_TOKEN = re.compile(
    rf"{{L}}{{A}}++(?!{URL_INSIDE}{{{{0,100}}}}@)"
    r"(?![.,:;!?]?+(?:{A}|{APOS}|{AMP}|{HYPHEN}|{SLASH}|[.,:;!?`\u2018_+$]))".format(**EXPRESSIONS)
)


def raw_tokens(caption: str) -> list[str]:
    """Return the tokens that the program prints for a caption, including punctuation."""
    text = caption.replace("\xad", "")  # soft hyphens
    tokens: list[str] = []
    position = 0
    while position < len(text):
        ignored_text = _IGNORED_TEXT.match(text, position)
        if ignored_text:
            position = ignored_text.end()
            continue
        single_token = _SINGLE_TOKEN.match(text, position)
        if single_token and single_token.group().lower() not in SPECIAL_WORDS:
            position = single_token.end()
            tokens.append(single_token.group().lower())
            continue
        token = _longest_match(text, position)
        position += len(token)
        tokens.extend(spelled_tokens(token, text, position))
    return tokens


def ptb_tokens(caption: str) -> list[str]:
    return [token for token in raw_tokens(caption) if token not in PUNCTUATION]


def _longest_match(text: str, position: int) -> str:
    """Return the token of the rule that matches most characters at a place, or one character if no rule matches."""
    longest_token, longest_end = text[position], position + 1
    for rule in rules_at(text[position]):
        match = rule.match(text, position)
        if match is not None and match.end() > longest_end:
            # A rule with a group looks further than its token, which is the group. In some rules only one of several
            # alternatives has a group.
            longest_token = (match.group(1) if rule.groups else None) or match.group()
            longest_end = match.end()
    return longest_token
