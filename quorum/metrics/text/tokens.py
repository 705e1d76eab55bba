"""Captions as numbers: every text is tokenised and numbered once, for all metrics.

Arrow cuts the texts at blanks, which all line breaks are; the tokenizer sees each distinct piece once. Neighbours that
may change each other's words are joined before. docs/metrics.md describes `TOKENIZERS`; `CHANGES`
names what is done to words between tokenising and counting.

`ptb` is the tokenizer of the MS COCO caption evaluation, without Java. The evaluation runs Stanford's PTBTokenizer
(CoreNLP 3.4.1) with `-preserveLines -lowerCase` and drops punctuation. The rules were found by running that program. At
each place the longest match wins, lookahead included, then the first rule.

In the program a carriage return or U+2028 in a caption shifts all later captions to other images; here every line
break is a blank. Tokens that hold a blank (`1 1/2`) hold U+00A0, as in the program.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from importlib import resources
from itertools import chain, compress
from string import ascii_lowercase, ascii_uppercase

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from quorum.metrics.inputs import UnknownName
from quorum.metrics.text import stemming
from quorum.numeric.arrays import Flags, Ints, compiled, starts_of
from quorum.numeric.packing import declare, declare_kind
from quorum.numeric.parallel import map_parts

# The evaluation's list also names -LRB-, -RRB-, -LCB- and -RCB-, but in capitals: brackets come out of the
# program in lower case and stay in the captions.
PUNCTUATION = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])


def _sections(file: str) -> dict[str, list[str]]:
    text = resources.files("quorum.metrics").joinpath("data", file).read_text("ascii")
    sections: dict[str, list[str]] = {}
    for word in text.split():
        if word.endswith(":"):
            current = sections.setdefault(word[:-1], [])
        else:
            current.append(word)
    return sections


def _character_class(entries: list[str]) -> str:
    return "".join("-".join(chr(int(bound, 16)) for bound in entry.split("-")) for entry in entries)


# What the program takes for a letter, a digit or a symbol beyond ASCII.
_BEYOND_ASCII = {name: _character_class(entries) for name, entries in _sections("ptb_characters.txt").items()}
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

# What a rule begins with spares trying it elsewhere. Where a rule has a group, the group is the token and the rest is
# what the rule looked ahead at.
_SOURCES = (
    # Markup, addresses, names of accounts.
    (
        "<",
        r"</?[A-Za-z][A-Za-z0-9:._-]*(?:[ \t]+[A-Za-z][^<>]{{0,500}}|[ \t]*/)?>|<[!?][A-Za-z-][^<>]{{0,500}}>",
    ),
    ("h", rf"https?://{_URL_INSIDE}{{{{1,500}}}}\.{_URL_INSIDE}{{{{0,500}}}}{_URL_END}"),
    ("{L}", rf"(?:www\.)?(?:{{L}}+\.)+(?:com|net|org|edu)/{_URL_INSIDE}{{{{1,500}}}}{_URL_END}"),
    ("[<A-Za-z0-9]", r'<?[A-Za-z0-9][^\s"<>|()]{{0,100}}@(?:[^\s"<>|().]+\.)*[^\s"<>|().]+>?'),
    ("[@#]", r"@[A-Za-z_][A-Za-z0-9_]*|#{L}+"),
    ("&", r"&[lg]t;|&amp;|&AMP;|&quot;|&nbsp;|&[mn]dash;|&#[0-9]+;"),
    # Contractions and what is glued together in writing.
    ("[CGLWcglw]", r"(?:{GLUED})(?!{A})"),
    ("{L}", r"({L}*(?![nN]){L})[nN](?:{APOS}|[`\u2018])[tT]"),
    ("[Nn]", r"[nN](?:{APOS}|[`\u2018])[tT](?!{L})"),
    ("'", r"('[tT])(?:[iI][sS]|[wW][aA][sS])"),
    ("{A}", r"({A}+){AUXILIARY}"),
    ("['\u2019\x92&]", r"{AUXILIARY}"),
    ("['\u2019\x92&]", r"{APOS}[nN](?:{APOS}|(?!{A}))|[\u2019\x92][nN]|{APOS}[eE][mM]"),
    ("['\u2019\x92&]", r"{APOS}[tT][iI][lL][lL]?|{APOS}[cC][aA][uU][sS][eE]"),
    ("['\u2019\x92&]", r"{APOS}[0-9][0-9]s|{APOS}[0-9][0-9](?=\s|$)"),
    ("[A-Za-z]", r"[lLdDjJ]{APOS}|([yY]{APOS}){L}|[Dd]unkin{APOS}|[Ss]omethin{APOS}|[Oo][Ll]{APOS}"),
    ("[CELNceln]", r"[eE]{APOS}er|[cC]{APOS}(?:mon|est)|[lL]i{APOS}l|[nN]at{APOS}l"),
    ("{L}", r"{L}+[aeiouyA-Z]{APOS}[aeiouA-Z]{L}*"),
    # Words, alone and joined by hyphens, slashes, underscores or full stops.
    ("{A}", r"{COMP}(?:(?:{HYPHEN}|_){COMP})*"),
    ("[Nn]", r"[nN]['\u2019]{L}{L}+"),
    ("{A}", r"{SIMPLE}{SLASH}{SIMPLE}(?:{SLASH}{SIMPLE})?"),
    ("{L}", r"{L}{A}*(?:[.!?]{L}{A}*)+"),
    ("{A}", r"{A}(?:{A}|[.,]){{0,100}}(?:{HYPHEN}{A}+)+"),
    ("[A-Zcf]", r"[A-Z]+(?:(?:\+|{AMP})[A-Z]+)+|[cC]\+\+|[cCfF]#"),
    # Abbreviations.
    ("[A-Za-z]", r"(?!I\.\s+(?:{STARTER})(?!{A}))(?:[A-Za-z]\.)+|[Pp][Hh]\.?[Dd]\.|[Ee][Dd]\.[Dd]\."),
    ("[A-Za-z]", r"(?:{ABBREVIATION})\."),
    ("[A-Za-z]", r"(?:{NUMBERED})\.(?=\s*[0-9])"),
    ("{A}", r"((?:{A}+{HYPHEN})*{A}+\.)[,;:]"),
    # Numbers.
    ("{D}|[-+.,:]", r"[-+]?(?:{D}*(?:[.,:]{D}+)+|{D}+)"),
    ("[0-9]", r"(?:[0-9]{{1,4}}[- \xa0])?[0-9]{{1,4}}{SLASH}[0-9]{{1,4}}"),
    (
        "[0-9(+]",
        r"(?:\([0-9]{{2,3}}\)[ \xa0]?|(?:\+\+?)?(?:[0-9]{{2,4}}[- \xa0])?[0-9]{{2,4}}[- \xa0])"
        r"[0-9]{{3,4}}[- \xa0]?[0-9]{{3,5}}",
    ),
    ("[A-Z]", r"[A-Z]{{1,3}}\$"),
    # Marks.
    ("[<>:;=]", r"[<>]?[:;=][-o*']?[()\[\]DdPp|@\\O](?!{A})"),
    ("[-?!.*_#@`']", r"[?!]+|\.{{3,}}|\.(?:\s\.){{2,}}|-{{2,}}|\*+|_+|#+|@+|``|\'\'"),
    ("[{CURLED}]", "[{CURLED}]{{2,}}"),
    ("-", r"-[LR][RCS]B-|-[lr][rcs]b-|-L[rcs]b-|-R[rcs]b-"),
)

_RULES = [tuple(re.compile(part.format(**_PARTS)) for part in source) for source in _SOURCES]


@lru_cache(maxsize=1 << 12)
def _rules_at(character: str) -> tuple[re.Pattern[str], ...]:
    return tuple(rule for beginning, rule in _RULES if beginning.match(character))


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
        alone = _ALONE.match(text, at)
        if alone and alone.group().lower() not in _NOT_PLAIN:
            at = alone.end()
            tokens.append(alone.group().lower())
            continue
        token = _longest(text, at)
        at += len(token)
        tokens.extend(_spelled(token, text, at))
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


LONGEST_TEMPLATE = 64  # bytes; bounds the memory of the cache

# Letters, perhaps with hyphens, perhaps with one mark behind: one word, unless it is among those below.
_PLAIN = re.compile("(?:{L}{{2,}}(?:-{L}+)*)?[.,]?".format(**_PARTS))
_NOT_PLAIN = frozenset([*_GLUED_SPLIT, *chain.from_iterable(_SHORT.values())])

# A word, unless it is among those: no rule goes on behind it, or behind a mark that follows it.
_ALONE = re.compile(
    rf"{{L}}{{A}}++(?!{_URL_INSIDE}{{{{0,100}}}}@)"
    r"(?![.,:;!?]?+(?:{A}|{APOS}|{AMP}|{HYPHEN}|{SLASH}|[.,:;!?`\u2018_+$]))".format(**_PARTS)
)
_NO_DIGITS = bytes(set(range(256)) - set(b"0123456789"))
_ZEROS = bytes.maketrans(b"123456789", b"000000000")

# What a piece begins with, and what the end of a piece awaits of the next, as bits, the latter
# higher; a tag awaits any up to a bracket.
ANY, NUMBER, STOP, BRACKET, TAG = 1, 2, 4, 8, 16
AWAITED = 8  # places higher
_NUMBERS = dict.fromkeys("0123456789", NUMBER)
_BEGINS = {".": STOP} | _NUMBERS
_AWAITS = {".": STOP, ")": NUMBER} | _NUMBERS
_ASKS_FOR_NUMBER = re.compile(r"(?:{NUMBERED})\.$".format(**_PARTS))
_OPEN_TAG = re.compile("<[!?/A-Za-z][^<>]*$")


def ptb_edges(text: str) -> int:
    """Say which neighbours may change a piece's words: tags and numbers hold blanks, `No.` asks for a number."""
    if text.isalpha():
        return ANY
    if not text:  # where blanks end a caption
        return 0
    text = text.replace("\xad", "")
    if not text:  # nothing to the program, and `No.` looks past it
        return ANY | NUMBER | ANY << AWAITED
    begins, awaited = ANY | _BEGINS.get(text[0], 0), _AWAITS.get(text[-1], 0)
    if awaited == STOP and _ASKS_FOR_NUMBER.search(text):
        awaited |= NUMBER
    if text.endswith("I."):
        awaited |= ANY
    if "<" in text or ">" in text:
        begins |= BRACKET
        awaited |= TAG | ANY if _OPEN_TAG.search(text) else 0
    return begins | awaited << AWAITED


def _longest(text: str, at: int) -> str:
    best, reach = text[at], at + 1
    for rule in _rules_at(text[at]):
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


FIRST = "1.0"


@dataclass(frozen=True)
class Tokenizer:
    """`tokens` cuts a caption, `piece` what stands between blanks, but for pieces whose `edges` join them."""

    name: str
    version: str
    tokens: Callable[[str], list[str]]
    piece: Callable[[str], list[str]]
    edges: Callable[[str], int] | None = None

    @property
    def label(self) -> str:
        return self.name if self.version == FIRST else f"{self.name}-{self.version}"


def _local(name: str, version: str, cut: Callable[[str], list[str]]) -> Tokenizer:
    return Tokenizer(name, version, cut, cut)


_WORD = re.compile(r"\w+")
_ALPHANUMERIC = re.compile(r"[^\W_]+")
_ASCII_ALPHANUMERIC = re.compile(r"[a-z0-9]+")
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def _h13(caption: str) -> list[str]:
    return _ALPHANUMERIC.findall(caption.lower())


def _rouge(caption: str) -> list[str]:
    # The script lower-cases ASCII letters alone and turns every other byte into a blank.
    return _ASCII_ALPHANUMERIC.findall(caption.translate(_ASCII_LOWER))


def _v15(caption: str) -> list[str]:
    return _WORD.findall(caption.lower())


TOKENIZERS = {
    tokenizer.name: tokenizer
    for tokenizer in (
        Tokenizer("ptb", FIRST, ptb_tokens, ptb_piece, ptb_edges),
        _local("space", FIRST, str.split),
        _local("h13", FIRST, _h13),
        _local("rouge", FIRST, _rouge),
        _local("v15", FIRST, _v15),
    )
}


def tokenizer_labelled(label: object) -> Tokenizer:
    labels = {tokenizer.label: tokenizer for tokenizer in TOKENIZERS.values()}
    if label not in labels:
        raise UnknownName("tokenizer", label, labels)
    return labels[str(label)]


def tokenizer_named(name: str) -> Tokenizer:
    if name not in TOKENIZERS:
        raise UnknownName("tokenizer", name, TOKENIZERS)
    return TOKENIZERS[name]


Numbers = NDArray[np.int32]
BLOCK = 1 << 14  # texts cut at once; bounds the memory, and the pieces of a block stay in the cache
PART = 8  # blocks


@declare
class TokenizedTexts:
    """Texts as `tokens` (N,) int32, positions in `vocabulary`; text t begins at starts[t] (texts + 1,)."""

    def __init__(self, tokens: Numbers, starts: Ints, vocabulary: Sequence[str]) -> None:
        self.tokens = tokens
        self.starts = starts
        self.vocabulary = vocabulary

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    def mapped(self, change: Callable[[Sequence[str]], Sequence[str]]) -> "TokenizedTexts":
        numbers: dict[str, int] = {}
        new = [numbers.setdefault(word, len(numbers)) for word in change(self.vocabulary)]
        return TokenizedTexts(np.array(new, dtype=np.int32)[self.tokens], self.starts, list(numbers))

    def without(self, is_dropped: Flags) -> "TokenizedTexts":
        """Return the texts without the words marked in `is_dropped` (vocabulary,)."""
        if not is_dropped.any():
            return self
        return TokenizedTexts(*_left_over(self.tokens, self.starts, is_dropped), self.vocabulary)


Cut = tuple[pa.DictionaryArray, Ints]  # the pieces by number, and the end of each text
declare_kind(
    pa.DictionaryArray,
    lambda pieces: [pieces.indices.to_numpy(), pieces.dictionary.to_pylist()],
    lambda parts: pa.DictionaryArray.from_arrays(parts[0], pa.array(parts[1], pa.large_string())),
)


@declare
def _cut(texts: list[str], blocks: range) -> list[Cut]:
    return [_cut_block(texts[first : first + BLOCK]) for first in blocks]


def _cut_block(texts: list[str]) -> Cut:
    pieces = pc.utf8_split_whitespace(_arrow(texts))
    return pieces.flatten().dictionary_encode(), pieces.offsets.to_numpy()[1:]


class Pieces:
    """Texts cut at blanks, as `TokenizedTexts` are; blanks at the ends of a text give empty pieces."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        blocks = range(0, max(len(texts), 1), BLOCK)
        # One part unless there are many texts: processes cost more than they save.
        parts = [blocks[at : at + PART] for at in range(0, len(blocks), PART)]
        coded = []
        self.starts: Ints = np.zeros(len(texts) + 1, dtype=np.int64)
        cut = chain.from_iterable(map_parts(_cut, texts, parts, threads=True))
        for first, (pieces, ends) in zip(blocks, cut, strict=True):
            coded.append(pieces)
            self.starts[first + 1 : first + len(ends) + 1] = self.starts[first] + ends
        unified = pa.chunked_array(coded).unify_dictionaries()
        self.numbers: Numbers = np.concatenate([pieces.indices.to_numpy() for pieces in unified.chunks])
        self.distinct: list[str] = unified.chunk(0).dictionary.to_pylist()

    def tokenized(self, tokenizer: Tokenizer) -> TokenizedTexts:
        numbers, starts, distinct = self.numbers, self.starts, self.distinct
        if tokenizer.edges is not None:
            marks = np.fromiter(map(tokenizer.edges, distinct), np.int32, len(distinct))
            is_joined = _joints(numbers, starts, marks)
            if is_joined.any():
                numbers, starts, distinct = self._joined(is_joined)
        cut = [tokenizer.piece(piece) for piece in distinct]
        tokens = list(chain.from_iterable(cut))
        vocabulary = list(dict.fromkeys(tokens))
        numbers_of = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        tokens_of_pieces = np.fromiter(map(numbers_of.__getitem__, tokens), np.int32, len(tokens))
        ends = starts_of([len(piece_tokens) for piece_tokens in cut])
        return TokenizedTexts(*_replaced(numbers, starts, tokens_of_pieces, ends), vocabulary)

    def _joined(self, is_joined: Flags) -> tuple[Numbers, Ints, list[str]]:
        """Return numbers, starts and distinct pieces, with each piece in `is_joined` as part of the one before."""
        whole = self._with_other_blanks(is_joined)
        for text in whole:
            is_joined[self.starts[text] + 1 : self.starts[text + 1]] = True
        inner = np.flatnonzero(is_joined)
        is_second = np.diff(inner, prepend=-1) > 1
        firsts, lengths = inner[is_second] - 1, np.diff(np.flatnonzero(np.append(is_second, True))) + 1
        runs = dict(zip(firsts.tolist(), self._runs(firsts, lengths), strict=True))
        runs |= {int(self.starts[text]): self._texts[text] for text in whole}
        numbers_of = {
            run: number for number, run in enumerate(dict.fromkeys(runs.values()), len(self.distinct))
        }
        numbers = self.numbers.copy()
        numbers[firsts] = [numbers_of[run] for run in runs.values()]
        numbers, distinct = _used(numbers[~is_joined], [*self.distinct, *numbers_of])
        return numbers, self.starts - np.searchsorted(inner, self.starts), distinct

    def _with_other_blanks(self, is_joined: Flags) -> list[int]:
        """Return which texts with a joint have others than single blanks, as `_runs` puts between pieces."""
        texts = np.flatnonzero(np.diff(np.searchsorted(np.flatnonzero(is_joined), self.starts)))
        return [text for text in texts.tolist() if not _has_single_blanks(self._texts[text])]

    def _runs(self, firsts: Ints, lengths: Ints) -> list[str]:
        pieces = pa.array(self.distinct, pa.large_string()).take(self.numbers[ranges(firsts, lengths)])
        lists = pa.ListArray.from_arrays(pa.array(starts_of(lengths), pa.int32()), pieces)
        texts: list[str] = pc.binary_join(lists, pa.scalar(" ", pa.large_string())).to_pylist()
        return texts


def _has_single_blanks(text: str) -> bool:
    return (text.isprintable() and "  " not in text) or " ".join(text.split()) == text.strip()


def _used(numbers: Numbers, pieces: list[str]) -> tuple[Numbers, list[str]]:
    is_used = np.zeros(len(pieces), dtype=np.bool_)
    is_used[numbers] = True
    return (np.cumsum(is_used, dtype=np.int32) - 1)[numbers], list(compress(pieces, is_used.tolist()))


def _arrow(texts: list[str]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        # Half of a surrogate pair, from a text that was cut in the middle, is a mark like any unknown one.
        whole = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        return pa.array(whole, pa.large_string())


@compiled
def _left_over(tokens: Numbers, starts: Ints, is_dropped: Flags) -> tuple[Numbers, Ints]:
    left = np.empty(tokens.size, dtype=np.int32)
    new_starts = np.zeros(starts.size, dtype=np.int64)
    end = 0
    for text in range(starts.size - 1):
        for at in range(starts[text], starts[text + 1]):
            if not is_dropped[tokens[at]]:
                left[end] = tokens[at]
                end += 1
        new_starts[text + 1] = end
    return left[:end].copy(), new_starts


@compiled
def _joints(pieces: Numbers, starts: Ints, marks: Numbers) -> Flags:
    """Say for each piece whether the one before may change its words, or the reverse; `ptb_edges` gives the marks."""
    is_joined = np.zeros(pieces.size, dtype=np.bool_)
    for text in range(starts.size - 1):
        awaited = 0
        for at in range(starts[text], starts[text + 1]):
            mark = marks[pieces[at]]
            is_joined[at] = mark & awaited
            in_tag = awaited & TAG and not mark & BRACKET
            awaited = mark >> AWAITED | (TAG | ANY if in_tag else 0)
    return is_joined


@compiled
def _replaced(pieces: Numbers, starts: Ints, tokens_of_pieces: Numbers, ends: Ints) -> tuple[Numbers, Ints]:
    """Replace every piece by its tokens."""
    count = starts.size - 1
    new_starts = np.zeros(count + 1, dtype=np.int64)
    for text in range(count):
        total = new_starts[text]
        for at in range(starts[text], starts[text + 1]):
            total += ends[pieces[at] + 1] - ends[pieces[at]]
        new_starts[text + 1] = total
    tokens = np.empty(new_starts[count], dtype=np.int32)
    end = 0
    for at in range(starts[count]):
        for word in range(ends[pieces[at]], ends[pieces[at] + 1]):
            tokens[end] = tokens_of_pieces[word]
            end += 1
    return tokens, new_starts


def encode(texts: Iterable[str], tokenizer: Tokenizer) -> TokenizedTexts:
    return Pieces(list(texts)).tokenized(tokenizer)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return starts[0] to starts[0] + lengths[0] - 1, then those of the next pair, and so on."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)


STOP_FIRST = "stop-first"
STEM_FIRST = "stem-first"
Step = Callable[[TokenizedTexts], TokenizedTexts]


def _stemmed(stem: Callable[..., list[str]]) -> Step:
    return lambda texts: texts.mapped(stem)


def _without(texts: TokenizedTexts, dropped: Callable[[], frozenset[str]]) -> TokenizedTexts:
    listed = dropped()
    return texts.without(np.array([word in listed for word in texts.vocabulary], dtype=np.bool_))


_STOP: Step = partial(_without, dropped=stemming.smart_stop_words)

# By the paper's rules nothing is left of the word `s`; programs that join stems with blanks lose it.
_EMPTY: Step = partial(_without, dropped=lambda: frozenset([""]))
_PORTER = _stemmed(stemming.porter)
_ROUGE, _WORDNET = _stemmed(stemming.rouge_stems), _stemmed(stemming.rouge_wordnet_stems)

CHANGES: dict[str, tuple[Step, ...]] = {
    "none": (),
    "porter": (_PORTER,),
    "porter-1980": (_stemmed(stemming.porter_1980), _EMPTY),
    STOP_FIRST: (_STOP, _ROUGE),
    # The order that fits the filter figures printed in H13 §4.3.2; short words are stemmed as well.
    STEM_FIRST: (_PORTER, _STOP),
    # What the ROUGE-1.5.5 script does: stop words kept or dropped, then stems (see `stemming`).
    "rouge-keep-none": (),
    "rouge-keep-porter": (_ROUGE,),
    "rouge-keep-wordnet": (_WORDNET,),
    "rouge-drop-none": (_STOP,),
    "rouge-drop-porter": (_STOP, _ROUGE),
    "rouge-drop-wordnet": (_STOP, _WORDNET),
}


def changed(texts: TokenizedTexts, change: str) -> TokenizedTexts:
    if change not in CHANGES:
        raise UnknownName("change of words", change, CHANGES)
    for step in CHANGES[change]:
        texts = step(texts)
    return texts


Table = NDArray[np.int32]


@compiled
def trie_bits(nodes: int) -> int:
    """Return the size of a table that so many nodes fill by half at most, as a power of two."""
    bits = 4
    while (1 << bits) < 2 * nodes:
        bits += 1
    return bits


@compiled
def empty_trie(nodes: int) -> Table:
    """Return a trie of n-grams in one hash table; node 0 is the root.

    A row is (owner, node, word, child). Rows of other owners count as free, so that nothing need be cleared.
    """
    return np.full((1 << trie_bits(nodes), 4), -1, dtype=np.int32)


@compiled
def child(trie: Table, bits: int, owner: int, node: int, word: int, new: int) -> int:
    """Return the child of a node by a word; without one, return `new`, and store it unless it is -1."""
    mask = (1 << bits) - 1
    # Both factors and both numbers are below 2 ** 31: nothing overflows.
    mixed = np.int64(node) * 1540483477 + np.int64(word) * 739982445
    slot = (mixed ^ (mixed >> 17)) & mask
    while trie[slot, 0] == owner:
        if trie[slot, 1] == node and trie[slot, 2] == word:
            return int(trie[slot, 3])
        slot = (slot + 1) & mask
    if new >= 0:
        trie[slot, 0] = owner
        trie[slot, 1] = node
        trie[slot, 2] = word
        trie[slot, 3] = new
    return new
