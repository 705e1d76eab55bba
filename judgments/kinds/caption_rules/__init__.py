r"""The rules of caption writing, which the server and the page share.

A rule is a regular expression or a count. It is applied to the text after ``tidy_text``. Expressions use only syntax
that Python's ``re`` and JavaScript's ``RegExp`` interpret in the same way (no ``\b``, ``\d``, ``\s``, ``\w``, and no
lookbehind). The rules are in ``rules.toml``, for example::

    [[rules]]
    id = "too-short"
    hard = true
    message = "Write a whole sentence with at least three words."
    bad_example = "Two dogs"
    good_example = "Two dogs run through the snow."
    source = "V15 §5: the main aspects"
    counts = "words"
    least = 3

V15 §5 asks for the main aspects, descriptions instead of dialogue, nothing overly descriptive, and good grammar. H13
§2.2 and §2.3 ask for visible content in sentences: no names of people or places, no commentary, not several sentences,
nothing lengthy. V15 is Vedantam et al. 2015, H13 is Hodosh et al. 2013, COCO is Chen et al. 2015, arXiv:1504.00325,
section 2. All numbers and word lists are Quorum's own. The source "Quorum's choice" marks a rule without a paper.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

# characters of Unicode's white space, for a regular expression, since Python and JavaScript interpret "\s" differently
BLANKS = "\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANK_RUN = re.compile(f"[{BLANKS}]+")
# What replaces {start}, {end} and {quote} in the file's patterns; start and end are word boundaries, as ``\b`` is out.
PATTERN_PARTS = {"start": "(?:^|[^A-Za-z'’])", "end": "(?![A-Za-z'’])", "quote": '["“”„«»]'}

ENGLISH = ("en",)
ANY_LANGUAGE = ("", "en", "zh")  # for texts of unknown language: one for each set of hard rules


@dataclass(frozen=True, slots=True)
class CaptionRule:
    """A rule of caption writing.

    Attributes:
        hard: whether a caption that breaks the rule is refused; otherwise the page only advises.
        pattern: a regular expression; a caption breaks the rule if it matches anywhere.
        counts: "words" or "characters" for a rule about their number, which must be from ``least`` to ``most``
            (0 for no limit).
        languages: the primary subtags of the languages to which the rule applies; if empty, all except
            ``excluded_languages``.
    """

    id: str
    hard: bool
    message: str | Promise
    bad_example: str
    good_example: str
    source: str
    pattern: str = ""
    ignore_case: bool = True
    counts: str = ""
    least: int = 0
    most: int = 0
    languages: tuple[str, ...] = ()
    excluded_languages: tuple[str, ...] = ()

    def is_for(self, language: str) -> bool:
        subtag = primary_subtag(language)
        return subtag in self.languages if self.languages else subtag not in self.excluded_languages

    def is_broken_by(self, text: str) -> bool:
        """Return whether a text breaks the rule. ``tidy_text`` must have been applied to it."""
        if self.counts:
            count = count_words(text) if self.counts == "words" else len(text)
            return count < self.least or bool(self.most and count > self.most)
        return _compile_pattern(self.pattern, self.ignore_case).search(text) is not None

    def script_fields(self) -> dict[str, Any]:
        """Return the rule as JSON for the script of the page."""
        fields: dict[str, Any] = {"id": self.id, "hard": self.hard, "says": str(self.message)}
        if self.counts:
            return fields | {"counts": self.counts, "least": self.least, "most": self.most}
        return fields | {"pattern": self.pattern, "flags": "iu" if self.ignore_case else "u"}


@lru_cache(maxsize=128)
def _compile_pattern(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)


def tidy_text(text: str) -> str:
    """Strip the text and collapse white space."""
    return _BLANK_RUN.sub(" ", text).strip(" ")


def count_words(text: str) -> int:
    """Return the number of words: runs of characters between blanks that contain a letter or digit."""
    return sum(any(unicodedata.category(char)[0] in "LN" for char in run) for run in text.split(" "))


def _read_rules() -> tuple[CaptionRule, ...]:
    entries = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))["rules"]
    return tuple(_make_rule(**entry) for entry in entries)


def _make_rule(
    *,
    message: str,
    bad_example: str,
    pattern: str = "",
    words: Sequence[str] = (),
    times: int = 1,
    languages: Sequence[str] = (),
    excluded_languages: Sequence[str] = (),
    **fields: Any,
) -> CaptionRule:
    """Return the rule of an entry of the file.

    Args:
        words: patterns of whole words, which are alternatives to ``pattern``.
        times: how often the text of ``bad_example`` is repeated, for rules about long texts.
    """
    word_pattern = f"{{start}}(?:{'|'.join(words)}){{end}}" if words else ""
    full_pattern = "|".join(filter(None, (pattern, word_pattern)))
    for name, part in PATTERN_PARTS.items():
        full_pattern = full_pattern.replace(f"{{{name}}}", part)
    return CaptionRule(
        message=_(message),
        bad_example=bad_example * times,
        pattern=full_pattern,
        languages=tuple(languages),
        excluded_languages=tuple(excluded_languages),
        **fields,
    )


RULES = _read_rules()


def primary_subtag(language: str) -> str:
    """Return the primary subtag of a language, such as "pt" for "pt-BR"."""
    return language.split("-")[0].lower()


def rules_for(language: str) -> tuple[CaptionRule, ...]:
    return tuple(rule for rule in RULES if rule.is_for(language))


def broken_rules(text: str, language: str) -> tuple[CaptionRule, ...]:
    """Return the rules that a text breaks after ``tidy_text``, in the order of the file."""
    tidied_text = tidy_text(text)
    return tuple(rule for rule in rules_for(language) if rule.is_broken_by(tidied_text))


def first_refusal(rules: Iterable[CaptionRule]) -> CaptionRule | None:
    """Return the first hard rule of those that a caption breaks: the caption is refused because of it."""
    return next((rule for rule in rules if rule.hard), None)
