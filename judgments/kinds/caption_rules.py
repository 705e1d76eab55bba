"""What a written caption is refused for, and what is only advised, as data that server and page read alike.

A rule is a regular expression or a count. The expressions keep to what Python's ``re`` and JavaScript's ``RegExp``
read in the same way (no ``\\b``, ``\\d``, ``\\s``, ``\\w``, no lookbehind), so that what the page says while somebody
types is what the server says afterwards. Both look at the text after ``tidied``.

Sources: V15 §5 (and App. V, whose figures the text of the paper does not hold) asks for the main aspects, for
descriptions and not dialogue, nothing overly descriptive, good grammar. H13 §2.2 and §2.3 want what can be seen, in
sentences: no names of people or places, no commentary, not several sentences, not lengthy. COCO is Chen et al. 2015,
arXiv:1504.00325, section 2. Every number and every list of words is ours; "ours" alone says that the whole rule is.
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

BLANKS = "\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANK_RUN = re.compile(f"[{BLANKS}]+")
# What {start}, {end} and {quote} stand for in the patterns of the file.
PARTS = {"start": "(?:^|[^A-Za-z'’])", "end": "(?![A-Za-z'’])", "quote": '["“”„«»]'}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of caption writing.

    Attributes:
        id: its name in files.
        hard: refuses the caption; else the page only advises.
        says: the sentence that the worker reads.
        refused, fine: a caption that it finds, and one that it lets pass.
        source: the paper that asks for it, or "ours".
        pattern: it finds a caption that this matches somewhere.
        ignore_case: whether the pattern does.
        counts: "words" or "characters", where it is a count: it finds fewer than ``least`` or more than ``most``.
        languages: the first part of the languages it is for; none: for every one but ``besides``.
    """

    id: str
    hard: bool
    says: str | Promise
    refused: str
    fine: str
    source: str
    pattern: str = ""
    ignore_case: bool = True
    counts: str = ""
    least: int = 0
    most: int = 0
    languages: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()

    def is_for(self, language: str) -> bool:
        """Whether it speaks of captions in ``language`` (BCP 47: "en", "pt-BR")."""
        first = first_part(language)
        return first in self.languages if self.languages else first not in self.besides

    def finds(self, text: str) -> bool:
        """Whether a ``tidied`` text breaks it."""
        if self.counts:
            count = count_words(text) if self.counts == "words" else len(text)
            return count < self.least or bool(self.most and count > self.most)
        return _compiled(self.pattern, self.ignore_case).search(text) is not None

    def as_data(self) -> dict[str, Any]:
        """What the page's script needs of it."""
        test: dict[str, Any] = (
            {"counts": self.counts, "least": self.least, "most": self.most}
            if self.counts
            else {"pattern": self.pattern, "flags": "iu" if self.ignore_case else "u"}
        )
        return {"id": self.id, "hard": self.hard, "says": str(self.says), **test}


@lru_cache(maxsize=128)
def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)


def tidied(text: str) -> str:
    """The text as typed, but for white space: each run of it is one blank, and none is left at the ends."""
    return _BLANK_RUN.sub(" ", text).strip(" ")


def count_words(text: str) -> int:
    """Runs between blanks that hold a letter or a digit."""
    return sum(any(unicodedata.category(sign)[0] in "LN" for sign in run) for run in text.split(" "))


def _read() -> tuple[Rule, ...]:
    rules = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["rules"]
    return tuple(_rule(**values) for values in rules)


def _rule(
    *, says: str, refused: str, pattern: str = "", words: Sequence[str] = (), times: int = 1, **values: Any
) -> Rule:
    """A rule of the file. ``times`` repeats the example that is refused."""
    whole_words = f"{{start}}(?:{'|'.join(words)}){{end}}" if words else ""
    for name in ("languages", "besides"):
        values[name] = tuple(values.get(name, ()))
    for name, part in PARTS.items():
        pattern, whole_words = (one.replace(f"{{{name}}}", part) for one in (pattern, whole_words))
    return Rule(
        says=_(says),
        refused=refused * times,
        pattern="|".join(filter(None, (pattern, whole_words))),
        **values,
    )


ENGLISH = ("en",)
RULES = _read()
MOST_CHARACTERS = next(rule.most for rule in RULES if rule.id == "far-too-long")


def first_part(language: str) -> str:
    """The language of a BCP 47 tag without its region: "pt" of "pt-BR"."""
    return language.split("-")[0].lower()


def rules_for(language: str) -> tuple[Rule, ...]:
    """The rules for captions in ``language``, hard ones first."""
    return tuple(rule for rule in RULES if rule.is_for(language))


def broken_rules(text: str, language: str) -> tuple[Rule, ...]:
    """The rules, hard and soft, that a text breaks once it is ``tidied``."""
    tidy = tidied(text)
    return tuple(rule for rule in rules_for(language) if rule.finds(tidy))


def first_refusal(rules: Iterable[Rule]) -> Rule | None:
    """The first hard one."""
    return next((rule for rule in rules if rule.hard), None)
