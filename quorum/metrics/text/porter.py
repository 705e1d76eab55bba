"""Porter's stemmer in three versions: his paper, his program, and the ROUGE script.

Words are lower-case. Porter 1980, *An algorithm for suffix stripping*; Lin 2004, *ROUGE*. Porter's released program,
which Vedantam et al. 2015 and the ROUGE script use, differs from his paper: it does not change words of one or two
letters, it replaces `bli` by `ble` (the paper replaces `abli` by `able`), and it replaces `logi` by `log`.

The ROUGE-1.5.5 script does not change words of up to three letters. Its step 4 removes -ment, and then -ent or -ion,
after another suffix (`governmental` becomes `govern`). With -m it first looks up irregular forms.
"""

import re
from collections.abc import Mapping, Sequence

from quorum.metrics.text.word_lists import wordnet_exceptions

MAX_UNCHANGED_LENGTH = 2  # letters; the released program does not change words of up to this length
ROUGE_MAX_UNCHANGED_LENGTH = 3  # letters; the ROUGE script does not change words of up to this length


def suffix_rules(text: str) -> dict[str, str]:
    """Return the replacement of each suffix, from a text of `suffix:replacement` separated by blanks."""
    return dict(rule.split(":") for rule in text.split())


_STEP_2 = suffix_rules(
    "ational:ate tional:tion enci:ence anci:ance izer:ize abli:able alli:al entli:ent eli:e ousli:ous "
    "ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble"
)

_STEP_2_OF_PROGRAM = _STEP_2 | suffix_rules("bli:ble logi:log")
_STEP_3 = suffix_rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")

_STEP_4 = suffix_rules(
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:"
)

# The ROUGE script removes suffixes in several passes.
_STEP_4_OF_SCRIPT = (
    {suffix: "" for suffix in _STEP_4 if suffix not in ("ment", "ent", "ion")},
    {"ment": ""},
    {"ent": "", "ion": ""},  # at most one of the two, since no word ends in both
)


def _suffix_pattern(suffixes: Mapping[str, str]) -> re.Pattern[str]:
    longest_first = sorted(suffixes, key=len, reverse=True)
    return re.compile(f"(?P<stem>.*?)(?P<suffix>{'|'.join(longest_first)})", re.DOTALL)


# The pattern of each table of suffixes, by the id() of the table, which is faster than hashing its content.
_TABLES = (_STEP_2, _STEP_2_OF_PROGRAM, _STEP_3, _STEP_4, *_STEP_4_OF_SCRIPT)
_SUFFIX_PATTERNS = {id(table): _suffix_pattern(table) for table in _TABLES}


def porter_1980(tokens: Sequence[str]) -> list[str]:
    """Return the stems of words by the rules of Porter's paper."""
    return [_stem(word, _STEP_2) for word in tokens]


def porter(tokens: Sequence[str]) -> list[str]:
    """Return the stems of words by the rules of Porter's released program."""
    return [word if len(word) <= MAX_UNCHANGED_LENGTH else _stem(word, _STEP_2_OF_PROGRAM) for word in tokens]


def rouge_stems(tokens: Sequence[str]) -> list[str]:
    """Return the stems of words by the rules of the ROUGE-1.5.5 script, without its irregular forms."""
    return [_rouge_stem(word) for word in tokens]


def rouge_wordnet_stems(tokens: Sequence[str]) -> list[str]:
    """Return the stems of words by the ROUGE-1.5.5 script with -m, which looks up irregular forms first."""
    irregular_forms = wordnet_exceptions()
    return [irregular_forms.get(word) or _rouge_stem(word) for word in tokens]


def _rouge_stem(word: str) -> str:
    return (
        word
        if len(word) <= ROUGE_MAX_UNCHANGED_LENGTH
        else _stem(word, _STEP_2_OF_PROGRAM, _STEP_4_OF_SCRIPT)
    )


def _stem(word: str, step_2: Mapping[str, str], step_4: Sequence[Mapping[str, str]] = (_STEP_4,)) -> str:
    """Return the stem by Porter's algorithm with these suffixes of step 2, and of each pass of step 4."""
    word = _remove_past_ending(_remove_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):  # step 1c
        word = word[:-1] + "i"
    word = _replace_suffix(word, step_2, min_measure=1)
    word = _replace_suffix(word, _STEP_3, min_measure=1)
    for suffixes in step_4:
        word = _replace_suffix(word, suffixes, min_measure=2)
    return _remove_final_letter(word)


def _remove_plural(word: str) -> str:
    """Return the word after step 1a of Porter's algorithm, which removes a plural -s."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _remove_past_ending(word: str) -> str:
    """Return the word after step 1b of Porter's algorithm, which removes -ed and -ing."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and _has_vowel(word[: -len(suffix)]):
            return _mend_stem(word[: -len(suffix)])
    return word


def _mend_stem(stem: str) -> str:
    """Restore or remove the last letter of a stem that lost -ed or -ing in step 1b."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _ends_double(stem) and stem[-1] not in "lsz":
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_cvc(stem) else stem


def _replace_suffix(word: str, suffixes: Mapping[str, str], min_measure: int) -> str:
    """Return the word after step 2, 3 or 4.

    The longest suffix is replaced or removed if Porter's m of the stem is at least `min_measure`.
    """
    match = _SUFFIX_PATTERNS[id(suffixes)].fullmatch(word)
    if match is None:
        return word
    stem, suffix = match["stem"], match["suffix"]
    if _measure(stem) < min_measure or (suffix == "ion" and not stem.endswith(("s", "t"))):
        return word
    return stem + suffixes[suffix]


def _remove_final_letter(word: str) -> str:
    """Return the word after steps 5a and 5b, which remove a final -e and a double -l."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_cvc(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _shape(word: str) -> str:
    """Return the word with v in place of vowels and c in place of consonants; y is a vowel after a consonant."""
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
