"""The tokenizer of the MS COCO caption evaluation, without Java.

The evaluation runs Stanford's PTBTokenizer (CoreNLP 3.4.1) with `-preserveLines -lowerCase` and drops
punctuation. The rules were found by running that program. At each place the longest match wins, lookahead
included, then the first rule.

In the program a carriage return or U+2028 in a caption shifts all later captions to other images; here every line
break is a blank. Tokens that hold a blank (`1 1/2`) hold U+00A0, as in the program.
"""

import re
from collections.abc import Callable
from importlib import resources
from itertools import chain

# The evaluation's list also names -LRB-, -RRB-, -LCB- and -RCB-, but in capitals: brackets come out of the
# program in lower case and stay in the captions.
PUNCTUATION = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])


def _sections(file: str) -> dict[str, list[str]]:
    text = resources.files("evaluation.metrics").joinpath("data", file).read_text("ascii")
    sections: dict[str, list[str]] = {}
    for word in text.split():
        if word.endswith(":"):
            current = sections.setdefault(word[:-1], [])
        else:
            current.append(word)
    return sections


def _character_class(ranges: list[str]) -> str:
    return "".join("-".join(chr(int(bound, 16)) for bound in entry.split("-")) for entry in ranges)


# What the program takes for a letter, a digit or a symbol beyond ASCII.
_BEYOND_ASCII = {name: _character_class(ranges) for name, ranges in _sections("ptb_characters.txt").items()}
_LETTERS = "A-Za-z" + _BEYOND_ASCII["letters"]
_DIGITS = "0-9" + _BEYOND_ASCII["digits"]

# Abbreviations that keep their full stop, by the cases in which they do. After a title a capital does not
# make the program add a second full stop; after initials only certain words do.
_SHORT = _sections("ptb_abbreviations.txt")
_TITLES = frozenset(f"{word}." for word in _SHORT["titles"])


def _cased(tokens: list[str], *forms: Callable[[str], str]) -> str:
    return "|".join(sorted({form(word) for word in tokens for form in forms}, key=len, reverse=True))


_ABBREVIATIONS = "|".join(
    (
        _cased(_SHORT["any-case"], str.lower, str.capitalize, str.upper),
        _cased(_SHORT["capitalised"], str.capitalize, str.upper),
        _cased(_SHORT["not-all-capitals"], str.lower, str.capitalize),
    )
)
# Words that are written as one and counted as two, and where they are cut.
_GLUED_SPLIT = {"cannot": 3, "gonna": 3, "gotta": 3, "lemme": 3, "gimme": 3, "wanna": 3}

_PARTS = {
    "L": f"[{_LETTERS}]",
    "A": f"[{_LETTERS}{_DIGITS}]",
    "D": f"[{_DIGITS}]",
    "APOS": "(?:['\u2019\x92]|&apos;)",
    "AUXILIARY": "(?:(?:'|&apos;){FORM}(?![A-Za-z])|[\u2019\x92]{FORM})".format(
        FORM="(?:[sSmMdD]|[lL][lL]|[vV][eE]|[rR][eE])"
    ),
    "CURLED": "\u2018\u2019\u201b\u201c\u201d\u2039\u203a\xab\xbb\x91-\x94",
    "AMP": "(?:&|&amp;)",
    "HYPHEN": "[-\u2010\u2011\u058a]",
    "SLASH": r"(?:\\?/|\u2044)",
    "STARTER": "|".join(re.escape(word) for word in _SHORT["starters"]),
    "ABBREVIATION": _ABBREVIATIONS,
    "GLUED": "|".join("".join(f"[{c}{c.upper()}]" for c in word) for word in _GLUED_SPLIT),
    "NUMBERED": _cased(_SHORT["before-numbers"], str.lower, str.capitalize, str.upper),
}
# A part of a hyphenated word: it may begin like O'Brien or d'oh.
_PARTS["COMP"] = "(?:[A-Zdol]['\u2019]{A}{A}+|{A}+)".format(**_PARTS)
_PARTS["SIMPLE"] = "(?:{A}+(?:{HYPHEN}{A}+)*)".format(**_PARTS)

# Rules that may run over anything are bounded, so that no caption takes more than linear time.
_URL_INSIDE = r'[^\s"<>|()]'
_URL_END = r'[^\s"<>|.!?(){{}},\-]'

# Where a rule has a group, the group is the token and the rest is what the rule looked ahead at.
_SOURCES = (
    # Markup, addresses, names of accounts.
    r"</?[A-Za-z][A-Za-z0-9:._-]*(?:[ \t]+[A-Za-z][^<>]{{0,500}}|[ \t]*/)?>|<[!?][A-Za-z-][^<>]{{0,500}}>",
    rf"https?://{_URL_INSIDE}{{{{1,500}}}}\.{_URL_INSIDE}{{{{0,500}}}}{_URL_END}",
    rf"(?:www\.)?(?:{{L}}+\.)+(?:com|net|org|edu)/{_URL_INSIDE}{{{{1,500}}}}{_URL_END}",
    r'<?[A-Za-z0-9][^\s"<>|()]{{0,100}}@(?:[^\s"<>|().]+\.)*[^\s"<>|().]+>?',
    r"@[A-Za-z_][A-Za-z0-9_]*|#{L}+",
    r"&[lg]t;|&amp;|&AMP;|&quot;|&nbsp;|&[mn]dash;|&#[0-9]+;",
    # Contractions and what is glued together in writing.
    r"(?:{GLUED})(?!{A})",
    r"({L}*(?![nN]){L})[nN](?:{APOS}|[`\u2018])[tT]",
    r"[nN](?:{APOS}|[`\u2018])[tT](?!{L})",
    r"('[tT])(?:[iI][sS]|[wW][aA][sS])",
    r"({A}+){AUXILIARY}",
    r"{AUXILIARY}",
    r"{APOS}[nN](?:{APOS}|(?!{A}))|[\u2019\x92][nN]|{APOS}[eE][mM]",
    r"{APOS}[tT][iI][lL][lL]?|{APOS}[cC][aA][uU][sS][eE]",
    r"{APOS}[0-9][0-9]s|{APOS}[0-9][0-9](?=\s|$)",
    r"[lLdDjJ]{APOS}|([yY]{APOS}){L}|[Dd]unkin{APOS}|[Ss]omethin{APOS}|[Oo][Ll]{APOS}",
    r"[eE]{APOS}er|[cC]{APOS}(?:mon|est)|[lL]i{APOS}l|[nN]at{APOS}l",
    r"{L}+[aeiouyA-Z]{APOS}[aeiouA-Z]{L}*",
    # Words, alone and joined by hyphens, slashes, underscores or full stops.
    r"{COMP}(?:(?:{HYPHEN}|_){COMP})*",
    r"[nN]['\u2019]{L}{L}+",
    r"{SIMPLE}{SLASH}{SIMPLE}(?:{SLASH}{SIMPLE})?",
    r"{L}{A}*(?:[.!?]{L}{A}*)+",
    r"{A}(?:{A}|[.,]){{0,100}}(?:{HYPHEN}{A}+)+",
    r"[A-Z]+(?:(?:\+|{AMP})[A-Z]+)+|[cC]\+\+|[cCfF]#",
    # Abbreviations.
    r"(?!I\.\s+(?:{STARTER})(?!{A}))(?:[A-Za-z]\.)+|[Pp][Hh]\.?[Dd]\.|[Ee][Dd]\.[Dd]\.",
    r"(?:{ABBREVIATION})\.",
    r"(?:{NUMBERED})\.(?=\s*[0-9])",
    r"((?:{A}+{HYPHEN})*{A}+\.)[,;:]",
    # Numbers.
    r"[-+]?(?:{D}*(?:[.,:]{D}+)+|{D}+)",
    r"(?:[0-9]{{1,4}}[- \xa0])?[0-9]{{1,4}}{SLASH}[0-9]{{1,4}}",
    r"(?:\([0-9]{{2,3}}\)[ \xa0]?|(?:\+\+?)?(?:[0-9]{{2,4}}[- \xa0])?[0-9]{{2,4}}[- \xa0])"
    r"[0-9]{{3,4}}[- \xa0]?[0-9]{{3,5}}",
    r"[A-Z]{{1,3}}\$",
    # Marks.
    r"[<>]?[:;=][-o*']?[()\[\]DdPp|@\\O](?!{A})",
    r"[?!]+|\.{{3,}}|\.(?:\s\.){{2,}}|-{{2,}}|\*+|_+|#+|@+|``|\'\'",
    "[{CURLED}]{{2,}}",
    r"-[LR][RCS]B-|-[lr][rcs]b-|-L[rcs]b-|-R[rcs]b-",
)
_RULES = tuple(re.compile(source.format(**_PARTS)) for source in _SOURCES)

_SPELLED = {
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
_IGNORED = re.compile(
    "[^!-~{}]+".format(
        "".join(_BEYOND_ASCII.values()) + "".join(key for key in _SPELLED if len(key) == 1 and key > "~")
    )
)


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
        token = _longest(text, at)
        at += len(token)
        tokens.extend(_spelled(token, text, at))
    return tokens


def tokens(caption: str) -> list[str]:
    return [token for token in raw_tokens(caption) if token not in PUNCTUATION]


def piece(piece: str) -> list[str] | None:
    """Cut a blank-separated piece; None if its neighbours may change its words."""
    if _PLAIN.fullmatch(piece):
        word = piece.rstrip(".,").lower()
        if word not in _NOT_PLAIN:
            return [word] if word else []
    return None if _NEEDS_CONTEXT.search(piece) else tokens(piece)


# Letters, perhaps with hyphens, perhaps with one mark behind: one word, unless it is among those below.
_PLAIN = re.compile(r"(?:[A-Za-z]{2,}(?:-[A-Za-z]+)*)?[.,]?")
_NOT_PLAIN = frozenset([*_GLUED_SPLIT, *chain.from_iterable(_SHORT.values())])
# Tags, telephone numbers and mixed fractions hold blanks; some abbreviations ask what comes next.
_NEEDS_CONTEXT = re.compile(r"[<>]|[0-9]{{3}}|[0-9]{SLASH}|^I\.$|(?:{NUMBERED})\.$".format(**_PARTS))


def _longest(text: str, at: int) -> str:
    best, reach = text[at], at + 1
    for rule in _RULES:
        match = rule.match(text, at)
        if match is not None and match.end() > reach:
            best, reach = (match.group(1) if rule.groups else None) or match.group(), match.end()
    return best


def _spelled(spelling: str, text: str, after: int) -> list[str]:
    """Return the token as the program writes it; `after` is its end."""
    lower = spelling.lower()
    if lower in _GLUED_SPLIT:
        cut = _GLUED_SPLIT[lower]
        return [lower[:cut], lower[cut:]]
    if lower == "&nbsp;":
        return []
    if spelling in ('"', "&quot;"):
        return ["``" if _OPENS.match(text, after) else "''"]
    if spelling == "'":
        return ["`" if _QUOTES.match(text, after) else "'"]
    if spelling in _SPELLED:
        return [_SPELLED[spelling]]
    if _CURLED.fullmatch(spelling):
        return ["".join(_SPELLED[mark] for mark in spelling)]
    if _DOTS.fullmatch(spelling):
        return ["..."]
    if _DASHES.fullmatch(spelling):
        return ["--"]
    lower = lower.replace("&apos;", "'").replace("&amp;", "&").replace(" ", "\xa0")
    if _AUXILIARY.fullmatch(lower):
        lower = lower.replace("\u2019", "'").replace("\x92", "'").replace("\u2018", "`")
    if len(lower) > 1:
        lower = lower.replace("(", "-lrb-").replace(")", "-rrb-")
    return [lower, "."] if lower.endswith(".") and _ends_sentence(lower, text, after) else [lower]


_OPENS = re.compile("[A-Za-z0-9$]")
_QUOTES = re.compile(r"[A-Za-z]\S")
_DOTS = re.compile(r"\.(?:\s*\.){2,}")
_CURLED = re.compile("[{CURLED}]+".format(**_PARTS))
_DASHES = re.compile("--+")
_AUXILIARY = re.compile("n.t|['\u2019\x92](?:s|m|d|ll|ve|re)")
_CAPITAL_NEXT = re.compile(r"\s+[A-Z]")
_STARTER_NEXT = re.compile(r"\s+(?:{STARTER})(?!{A})".format(**_PARTS))
_INITIALS = re.compile(r"(?:[a-z]\.)+|ph\.?d\.|ed\.d\.")


def _ends_sentence(abbreviation: str, text: str, after: int) -> bool:
    if len(abbreviation) == 1 or abbreviation in _TITLES:
        return False
    following = _STARTER_NEXT if _INITIALS.fullmatch(abbreviation) else _CAPITAL_NEXT
    return following.match(text, after) is not None
