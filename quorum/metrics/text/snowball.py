"""The English stemmer of METEOR 1.5, which is the Snowball project's ("Porter 2").

Source: Porter, *The English (Porter2) stemming algorithm*, snowballstem.org, as of 2001 to 2009. Words are lower-case.
Current libraries follow later releases, which stem about one word in a thousand differently (`evening`, `added`,
`biologist`).
"""

import re
from collections.abc import Mapping, Sequence

from quorum.metrics.text.porter import MAX_UNCHANGED_LENGTH, suffix_rules

_IRREGULAR = suffix_rules(
    "skis:ski skies:sky dying:die lying:lie tying:tie idly:idl gently:gentl ugly:ugli early:earli only:onli "
    "singly:singl sky:sky news:news howe:howe atlas:atlas cosmos:cosmos bias:bias andes:andes"
)

# Words that no step changes after a plural -s is removed.
_UNCHANGED_WORDS = ("inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed")

# The suffixes of steps 2 to 4, and what replaces them.
_STEP_2 = suffix_rules(
    "tional:tion enci:ence anci:ance abli:able entli:ent izer:ize ization:ize ational:ate ation:ate ator:ate "
    "alism:al aliti:al alli:al fulness:ful ousli:ous ousness:ous iveness:ive iviti:ive biliti:ble bli:ble "
    "ogi:og fulli:ful lessli:less li:"
)

_STEP_3 = suffix_rules("tional:tion ational:ate alize:al icate:ic iciti:ic ical:ic ful: ness: ative:")

_STEP_4 = suffix_rules(
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ism: ate: iti: ous: ive: ize: ion:"
)

# A y at the start or after a vowel is a consonant, written Y; the second y of `ayy` is a vowel again.
_CONSONANT_Y = re.compile("(^|[aeiouy])y")

# What stands before a region: the first consonant after a vowel.
_BEFORE_REGION = re.compile("[aeiouy][^aeiouy]")

# R1 begins after these, although the rule would let it begin earlier.
_BEFORE_R1 = re.compile("gener|commun|arsen")
_POSSESSIVE = re.compile("'s'?$|'$")
_VOWEL = re.compile("[aeiouy]")
_PAST_ENDING = re.compile("(?:eed|ed|ing)(?:ly)?$")
_DOUBLE_CONSONANT = re.compile("(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$")
_SHORT_SYLLABLE = re.compile("(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$")


def _ending_pattern(suffixes: Mapping[str, str]) -> re.Pattern[str]:
    longest_first = sorted(suffixes, key=len, reverse=True)
    return re.compile(f"(?:{'|'.join(longest_first)})$")


_ENDING_2, _ENDING_3, _ENDING_4 = map(_ending_pattern, (_STEP_2, _STEP_3, _STEP_4))


def snowball_stems(tokens: Sequence[str]) -> list[str]:
    return [_stem(word) for word in tokens]


def _stem(word: str) -> str:
    if len(word) <= MAX_UNCHANGED_LENGTH:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    word = _CONSONANT_Y.sub(r"\1Y", word.removeprefix("'"))
    exception = _BEFORE_R1.match(word)
    # the positions at which the regions R1 and R2 of the algorithm begin
    r1 = exception.end() if exception else _region_start(word, 0)
    r2 = _region_start(word, r1)
    word = _remove_plural(_POSSESSIVE.sub("", word))
    if word not in _UNCHANGED_WORDS:
        word = _remove_past_ending(word, r1)
        if word.endswith(("y", "Y")) and len(word) > MAX_UNCHANGED_LENGTH and not _VOWEL.match(word[-2]):
            word = word[:-1] + "i"  # step 1c
        word = _remove_final_letter(_remove_suffix(word, r1, r2), r1, r2)
    return word.replace("Y", "y")


def _region_start(word: str, start: int) -> int:
    """Return the start of the region after the first consonant that follows a vowel, searched from `start` on."""
    match = _BEFORE_REGION.search(word, start)
    return match.end() if match else len(word)


def _remove_plural(word: str) -> str:
    """Return the word after step 1a of the algorithm, which removes a plural -s."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _VOWEL.search(word[:-2]):
        return word[:-1]
    return word


def _remove_past_ending(word: str, r1: int) -> str:
    """Return the word after step 1b of the algorithm, which removes -ed and -ing."""
    match = _PAST_ENDING.search(word)
    if match is None:
        return word
    stem = word[: match.start()]
    if match.group().startswith("eed"):
        return stem + "ee" if match.start() >= r1 else word
    if not _VOWEL.search(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _DOUBLE_CONSONANT.search(stem):
        return stem[:-1]
    return stem + "e" if r1 >= len(stem) and _SHORT_SYLLABLE.search(stem) else stem


def _remove_suffix(word: str, r1: int, r2: int) -> str:
    """Return the word after steps 2 to 4, which remove or replace the longest suffix in its region."""
    match = _ENDING_2.search(word)
    if match and match.start() >= r1:
        suffix, letter_before = match.group(), word[match.start() - 1]
        # These suffixes are removed or replaced only after some letters.
        allowed_letters = {"ogi": "l", "li": "cdeghkmnrt"}.get(suffix, letter_before)
        if letter_before in allowed_letters:
            word = word[: match.start()] + _STEP_2[suffix]
    match = _ENDING_3.search(word)
    if match and match.start() >= (r2 if match.group() == "ative" else r1):
        word = word[: match.start()] + _STEP_3[match.group()]
    match = _ENDING_4.search(word)
    if match and match.start() >= r2 and (match.group() != "ion" or word[match.start() - 1] in "st"):
        word = word[: match.start()]
    return word


def _remove_final_letter(word: str, r1: int, r2: int) -> str:
    """Return the word after step 5, which removes a final -e or -l."""
    last_position = len(word) - 1
    if word.endswith("e"):
        if last_position >= r2 or (last_position >= r1 and not _SHORT_SYLLABLE.search(word[:-1])):
            return word[:-1]
    elif word.endswith("ll") and last_position >= r2:
        return word[:-1]
    return word
