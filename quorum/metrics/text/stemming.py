"""Porter's stemmer in three forms, that of METEOR, and stop words and irregular forms of the ROUGE script.

Words are lower-case. Porter 1980, *An algorithm for suffix stripping*; Lin 2004, *ROUGE*. Porter's released program,
which V15 and the ROUGE script use, differs from his paper: words of one or two letters stay, `bli` becomes `ble`
(paper: `abli` -> `able`), and `logi` becomes `log`.

The ROUGE-1.5.5 script leaves words of up to three letters alone, and its step 4 removes -ment, then -ent or
-ion, from what other suffixes left (`governmental` -> `govern`). With -m it first looks up irregular forms.

METEOR 1.5 has the English stemmer of the Snowball project ("Porter 2"): Porter, *The English (Porter2) stemming
algorithm*, snowballstem.org, of 2001 to 2009. Later releases, and so current libraries, stem about one word in a
thousand differently (`evening`, `added`, `biologist`).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType

SHORT = 2  # letters; the released program leaves such words alone
ROUGE_SHORT = 3  # letters; the ROUGE script leaves these alone too


def _rules(text: str) -> dict[str, str]:
    return dict(rule.split(":") for rule in text.split())


_STEP_2 = _rules(
    "ational:ate tional:tion enci:ence anci:ance izer:ize abli:able alli:al entli:ent eli:e ousli:ous "
    "ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble"
)

_STEP_2_RELEASED = _STEP_2 | _rules("bli:ble logi:log")
_STEP_3 = _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")

_STEP_4 = _rules(
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:"
)

_STEP_4_SCRIPT = (
    {suffix: "" for suffix in _STEP_4 if suffix not in ("ment", "ent", "ion")},
    {"ment": ""},
    {"ent": "", "ion": ""},  # one of the two: nothing ends in both
)


def _ending(suffixes: Mapping[str, str]) -> re.Pattern[str]:
    longest_first = sorted(suffixes, key=len, reverse=True)
    return re.compile(f"(?P<stem>.*?)(?P<suffix>{'|'.join(longest_first)})", re.DOTALL)


_TABLES = (_STEP_2, _STEP_2_RELEASED, _STEP_3, _STEP_4, *_STEP_4_SCRIPT)
_ENDINGS = {id(table): _ending(table) for table in _TABLES}


def _shape(word: str) -> str:
    """Return the word with v for vowels and c for all else; y is a vowel after a consonant."""
    shape: list[str] = []
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == ["c"])
        shape.append("v" if is_vowel else "c")
    return "".join(shape)


def _measure(stem: str) -> int:
    """Return Porter's m: how often a vowel is followed by a consonant."""
    return _shape(stem).count("vc")


def _has_vowel(stem: str) -> bool:
    return "v" in _shape(stem)


def _ends_double(word: str) -> bool:
    return word[-1:] == word[-2:-1] and _shape(word).endswith("c")


def _ends_cvc(word: str) -> bool:
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and _has_vowel(word[: -len(suffix)]):
            return _mended(word[: -len(suffix)])
    return word


def _mended(stem: str) -> str:
    """Repair a stem that lost -ed or -ing in step 1b."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _ends_double(stem) and stem[-1] not in "lsz":
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_cvc(stem) else stem


def _replaced(word: str, suffixes: Mapping[str, str], least: int) -> str:
    """Steps 2 to 4: remove or replace the longest suffix if the stem's m is large enough."""
    match = _ENDINGS[id(suffixes)].fullmatch(word)
    if match is None:
        return word
    stem, suffix = match["stem"], match["suffix"]
    if _measure(stem) < least or (suffix == "ion" and not stem.endswith(("s", "t"))):
        return word
    return stem + suffixes[suffix]


def _tidied(word: str) -> str:
    """Steps 5a and 5b."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_cvc(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _stem(word: str, step_2: Mapping[str, str], step_4: Sequence[Mapping[str, str]] = (_STEP_4,)) -> str:
    word = _past(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):  # step 1c
        word = word[:-1] + "i"
    word = _replaced(word, step_2, least=1)
    word = _replaced(word, _STEP_3, least=1)
    for suffixes in step_4:
        word = _replaced(word, suffixes, least=2)
    return _tidied(word)


def porter_1980(tokens: Sequence[str]) -> list[str]:
    """Stem by Porter's paper."""
    return [_stem(word, _STEP_2) for word in tokens]


def porter(tokens: Sequence[str]) -> list[str]:
    """Stem by Porter's released program."""
    return [word if len(word) <= SHORT else _stem(word, _STEP_2_RELEASED) for word in tokens]


def rouge_stems(tokens: Sequence[str]) -> list[str]:
    """Stem by the ROUGE-1.5.5 script without its irregular forms."""
    return [_rouge_stem(word) for word in tokens]


def rouge_wordnet_stems(tokens: Sequence[str]) -> list[str]:
    """Stem by the ROUGE-1.5.5 script with -m."""
    irregular = wordnet_exceptions()
    return [irregular.get(word) or _rouge_stem(word) for word in tokens]


def _rouge_stem(word: str) -> str:
    return word if len(word) <= ROUGE_SHORT else _stem(word, _STEP_2_RELEASED, _STEP_4_SCRIPT)


@cache
def smart_stop_words() -> frozenset[str]:
    """Return the SMART list of common words of ROUGE-1.5.5 (596 words)."""
    return frozenset(_data("smart_common_words.txt").split())


@cache
def wordnet_exceptions() -> Mapping[str, str]:
    """Return the irregular forms of WordNet 2.0 in the ROUGE-1.5.5 script: form -> lemma; the later line wins."""
    lines = _data("wordnet_2_0_exceptions.txt").splitlines()
    return MappingProxyType(dict(line.split() for line in lines if not line.startswith("#")))


def _data(name: str) -> str:
    return resources.files("quorum.metrics").joinpath("data", name).read_text("ascii")


_IRREGULAR = _rules(
    "skis:ski skies:sky dying:die lying:lie tying:tie idly:idl gently:gentl ugly:ugli early:earli only:onli "
    "singly:singl sky:sky news:news howe:howe atlas:atlas cosmos:cosmos bias:bias andes:andes"
)

# Words that are not changed further after a plural -s.
_FIXED = ("inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed")

_ENGLISH_2 = _rules(
    "tional:tion enci:ence anci:ance abli:able entli:ent izer:ize ization:ize ational:ate ation:ate ator:ate "
    "alism:al aliti:al alli:al fulness:ful ousli:ous ousness:ous iveness:ive iviti:ive biliti:ble bli:ble "
    "ogi:og fulli:ful lessli:less li:"
)

_ENGLISH_3 = _rules("tional:tion ational:ate alize:al icate:ic iciti:ic ical:ic ful: ness: ative:")

_ENGLISH_4 = _rules(
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ism: ate: iti: ous: ive: ize: ion:"
)


def _english_ending(suffixes: Mapping[str, str]) -> re.Pattern[str]:
    longest_first = sorted(suffixes, key=len, reverse=True)
    return re.compile(f"(?:{'|'.join(longest_first)})$")


_ENDING_2, _ENDING_3, _ENDING_4 = (
    _english_ending(_ENGLISH_2),
    _english_ending(_ENGLISH_3),
    _english_ending(_ENGLISH_4),
)

# A y at the start or behind a vowel is a consonant, written Y; the second y of `ayy` is a vowel again.
_CONSONANT_Y = re.compile("(^|[aeiouy])y")
_REGION = re.compile("[aeiouy][^aeiouy]")
_LONG_PREFIX = re.compile("gener|commun|arsen")
_POSSESSIVE = re.compile("'s'?$|'$")
_VOWEL = re.compile("[aeiouy]")
_PAST = re.compile("(?:eed|ed|ing)(?:ly)?$")
_DOUBLE = re.compile("(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$")
_SHORT_SYLLABLE = re.compile("(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$")


def _after_region(word: str, start: int) -> int:
    """Return where the region after the first consonant behind a vowel begins."""
    match = _REGION.search(word, start)
    return match.end() if match else len(word)


def _english_plural(word: str) -> str:
    """Step 1a."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _VOWEL.search(word[:-2]):
        return word[:-1]
    return word


def _english_past(word: str, first: int) -> str:
    """Step 1b."""
    match = _PAST.search(word)
    if match is None:
        return word
    stem = word[: match.start()]
    if match.group().startswith("eed"):
        return stem + "ee" if match.start() >= first else word
    if not _VOWEL.search(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _DOUBLE.search(stem):
        return stem[:-1]
    return stem + "e" if first >= len(stem) and _SHORT_SYLLABLE.search(stem) else stem


def _derived(word: str, first: int, second: int) -> str:
    """Steps 2 to 4: remove or replace the longest suffix in its region."""
    match = _ENDING_2.search(word)
    if match and match.start() >= first:
        suffix, before = match.group(), word[match.start() - 1]
        allowed = "l" if suffix == "ogi" else "cdeghkmnrt" if suffix == "li" else before
        if before in allowed:
            word = word[: match.start()] + _ENGLISH_2[suffix]
    match = _ENDING_3.search(word)
    if match and match.start() >= (second if match.group() == "ative" else first):
        word = word[: match.start()] + _ENGLISH_3[match.group()]
    match = _ENDING_4.search(word)
    if match and match.start() >= second and (match.group() != "ion" or word[match.start() - 1] in "st"):
        word = word[: match.start()]
    return word


def _english_tidied(word: str, first: int, second: int) -> str:
    """Step 5."""
    last = len(word) - 1
    if word.endswith("e"):
        if last >= second or (last >= first and not _SHORT_SYLLABLE.search(word[:-1])):
            return word[:-1]
    elif word.endswith("ll") and last >= second:
        return word[:-1]
    return word


def _english_stem(word: str) -> str:
    if len(word) <= SHORT:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    word = _CONSONANT_Y.sub(r"\1Y", word.removeprefix("'"))
    prefix = _LONG_PREFIX.match(word)
    first = prefix.end() if prefix else _after_region(word, 0)
    second = _after_region(word, first)
    word = _english_plural(_POSSESSIVE.sub("", word))
    if word not in _FIXED:
        word = _english_past(word, first)
        if word.endswith(("y", "Y")) and len(word) > SHORT and not _VOWEL.match(word[-2]):
            word = word[:-1] + "i"  # step 1c
        word = _english_tidied(_derived(word, first, second), first, second)
    return word.replace("Y", "y")


def snowball_stems(tokens: Sequence[str]) -> list[str]:
    return [_english_stem(word) for word in tokens]
