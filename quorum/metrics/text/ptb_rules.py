"""The rules of Stanford's PTBTokenizer (CoreNLP 3.4.1), found by running it.

At each position the rule with the longest match applies, where a match includes the lookahead. Of several such rules,
the first applies.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from quorum.metrics.text.ptb_data import ABBREVIATIONS, NON_ASCII_CLASSES

_LETTERS = "A-Za-z" + NON_ASCII_CLASSES["letters"]
_DIGITS = "0-9" + NON_ASCII_CLASSES["digits"]

# Words that are two tokens, and the position at which each is cut.
CONTRACTIONS = {"cannot": 3, "gonna": 3, "gotta": 3, "lemme": 3, "gimme": 3, "wanna": 3}

# Rules that may match any characters have a maximum length, so that time is linear in the length of a caption.
URL_INSIDE = r'[^\s"<>|()]'
_URL_END = r'[^\s"<>|.!?(){{}},\-]'


def _case_pattern(tokens: list[str], *forms: Callable[[str], str]) -> str:
    return "|".join(sorted({form(word) for word in tokens for form in forms}, key=len, reverse=True))


_ABBREVIATION = "|".join(
    (
        _case_pattern(ABBREVIATIONS["any-case"], str.lower, str.capitalize, str.upper),
        _case_pattern(ABBREVIATIONS["capitalised"], str.capitalize, str.upper),
        _case_pattern(ABBREVIATIONS["not-all-capitals"], str.lower, str.capitalize),
    )
)

# Parts of the rules, by the names that stand for them: L is a letter, A a letter or digit, D a digit.
EXPRESSIONS = {
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
    "STARTER": "|".join(re.escape(word) for word in ABBREVIATIONS["starters"]),
    "ABBREVIATION": _ABBREVIATION,
    "GLUED": "|".join("".join(f"[{c}{c.upper()}]" for c in word) for word in CONTRACTIONS),
    "NUMBERED": _case_pattern(ABBREVIATIONS["before-numbers"], str.lower, str.capitalize, str.upper),
}

# A part of a hyphenated word: it may begin like O'Brien or d'oh.
EXPRESSIONS["COMP"] = "(?:[A-Zdol]['\u2019]{A}{A}+|{A}+)".format(**EXPRESSIONS)
EXPRESSIONS["SIMPLE"] = "(?:{A}+(?:{HYPHEN}{A}+)*)".format(**EXPRESSIONS)

# (first characters, rule). A rule is tried only at its first characters. A group that matches is the token,
# and the rest is lookahead. `format` fills in EXPRESSIONS, so other braces are doubled, and doubled again in f-strings.
_SOURCES = (
    # Markup, addresses, names of accounts. Above each rule are examples of its tokens.
    # <a href="...">, </a>, <!DOCTYPE html>
    (
        "<",
        r"</?[A-Za-z][A-Za-z0-9:._-]*(?:[ \t]+[A-Za-z][^<>]{{0,500}}|[ \t]*/)?>|<[!?][A-Za-z-][^<>]{{0,500}}>",
    ),
    # https://example.org/a
    ("h", rf"https?://{URL_INSIDE}{{{{1,500}}}}\.{URL_INSIDE}{{{{0,500}}}}{_URL_END}"),
    # www.example.org/page
    ("{L}", rf"(?:www\.)?(?:{{L}}+\.)+(?:com|net|org|edu)/{URL_INSIDE}{{{{1,500}}}}{_URL_END}"),
    # a@example.org
    ("[<A-Za-z0-9]", r'<?[A-Za-z0-9][^\s"<>|()]{{0,100}}@(?:[^\s"<>|().]+\.)*[^\s"<>|().]+>?'),
    # @account, #topic
    ("[@#]", r"@[A-Za-z_][A-Za-z0-9_]*|#{L}+"),
    # &lt;, &amp;, &#39;
    ("&", r"&[lg]t;|&amp;|&AMP;|&quot;|&nbsp;|&[mn]dash;|&#[0-9]+;"),
    # Contractions, and words written as one.
    # cannot, gonna (two tokens, see CONTRACTIONS)
    ("[CGLWcglw]", r"(?:{GLUED})(?!{A})"),
    # do of don't
    ("{L}", r"({L}*(?![nN]){L})[nN](?:{APOS}|[`\u2018])[tT]"),
    # the n't that is left
    ("[Nn]", r"[nN](?:{APOS}|[`\u2018])[tT](?!{L})"),
    # 't of 'tis and 'twas
    ("'", r"('[tT])(?:[iI][sS]|[wW][aA][sS])"),
    # dog of dog's, I of I'm
    ("{A}", r"({A}+){AUXILIARY}"),
    # the 's or 'm that is left
    ("['\u2019\x92&]", r"{AUXILIARY}"),
    # 'n' (rock 'n' roll), 'em
    ("['\u2019\x92&]", r"{APOS}[nN](?:{APOS}|(?!{A}))|[\u2019\x92][nN]|{APOS}[eE][mM]"),
    # 'til, 'till, 'cause
    ("['\u2019\x92&]", r"{APOS}[tT][iI][lL][lL]?|{APOS}[cC][aA][uU][sS][eE]"),
    # '80s, '80
    ("['\u2019\x92&]", r"{APOS}[0-9][0-9]s|{APOS}[0-9][0-9](?=\s|$)"),
    # l', d', j'; y' of y'all; dunkin', somethin', ol'
    ("[A-Za-z]", r"[lLdDjJ]{APOS}|([yY]{APOS}){L}|[Dd]unkin{APOS}|[Ss]omethin{APOS}|[Oo][Ll]{APOS}"),
    # e'er, c'mon, c'est, li'l, nat'l
    ("[CELNceln]", r"[eE]{APOS}er|[cC]{APOS}(?:mon|est)|[lL]i{APOS}l|[nN]at{APOS}l"),
    # ma'am, Hawai'i: an apostrophe between vowels or capitals
    ("{L}", r"{L}+[aeiouyA-Z]{APOS}[aeiouA-Z]{L}*"),
    # Words, single or joined by hyphens, slashes, underscores or full stops.
    # dog, well-known, snake_case, O'Brien
    ("{A}", r"{COMP}(?:(?:{HYPHEN}|_){COMP})*"),
    # n'est
    ("[Nn]", r"[nN]['\u2019]{L}{L}+"),
    # and/or, a/b/c
    ("{A}", r"{SIMPLE}{SLASH}{SIMPLE}(?:{SLASH}{SIMPLE})?"),
    # www.a.b, a!b
    ("{L}", r"{L}{A}*(?:[.!?]{L}{A}*)+"),
    # 1.5-inch, 3,000-foot
    ("{A}", r"{A}(?:{A}|[.,]){{0,100}}(?:{HYPHEN}{A}+)+"),
    # AT&T, A+B, C++, C#
    ("[A-Zcf]", r"[A-Z]+(?:(?:\+|{AMP})[A-Z]+)+|[cC]\+\+|[cCfF]#"),
    # Abbreviations.
    # U.S., but not "I." before a word that often begins a sentence; Ph.D., Ed.D.
    ("[A-Za-z]", r"(?!I\.\s+(?:{STARTER})(?!{A}))(?:[A-Za-z]\.)+|[Pp][Hh]\.?[Dd]\.|[Ee][Dd]\.[Dd]\."),
    # Mr.; etc.
    ("[A-Za-z]", r"(?:{ABBREVIATION})\."),
    # No. before a number
    ("[A-Za-z]", r"(?:{NUMBERED})\.(?=\s*[0-9])"),
    # a word with its full stop before a comma, semicolon or colon
    ("{A}", r"((?:{A}+{HYPHEN})*{A}+\.)[,;:]"),
    # Numbers.
    # 3.14, -5, 10:30
    ("{D}|[-+.,:]", r"[-+]?(?:{D}*(?:[.,:]{D}+)+|{D}+)"),
    # 1/2, 1 1/2
    ("[0-9]", r"(?:[0-9]{{1,4}}[- \xa0])?[0-9]{{1,4}}{SLASH}[0-9]{{1,4}}"),
    # telephone numbers: (212) 555-1234
    (
        "[0-9(+]",
        r"(?:\([0-9]{{2,3}}\)[ \xa0]?|(?:\+\+?)?(?:[0-9]{{2,4}}[- \xa0])?[0-9]{{2,4}}[- \xa0])"
        r"[0-9]{{3,4}}[- \xa0]?[0-9]{{3,5}}",
    ),
    # US$
    ("[A-Z]", r"[A-Z]{{1,3}}\$"),
    # Marks.
    # smileys
    ("[<>:;=]", r"[<>]?[:;=][-o*']?[()\[\]DdPp|@\\O](?!{A})"),
    # repeated marks: ?!, ..., . . ., --, ``
    ("[-?!.*_#@`']", r"[?!]+|\.{{3,}}|\.(?:\s\.){{2,}}|-{{2,}}|\*+|_+|#+|@+|``|\'\'"),
    # two curled quotation marks or more
    ("[{CURLED}]", "[{CURLED}]{{2,}}"),
    # brackets as treebanks write them: -LRB-
    ("-", r"-[LR][RCS]B-|-[lr][rcs]b-|-L[rcs]b-|-R[rcs]b-"),
)

RULES = [tuple(re.compile(part.format(**EXPRESSIONS)) for part in source) for source in _SOURCES]


@lru_cache(maxsize=1 << 12)
def rules_at(character: str) -> tuple[re.Pattern[str], ...]:
    """Return the rules that may match at a character, in their order."""
    return tuple(rule for beginning, rule in RULES if beginning.match(character))
