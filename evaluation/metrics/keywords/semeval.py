"""The files of SemEval-2007 task 10, and its scoring to the letter (McCarthy, Navigli 2007).

MC12 scores keywords with that task's program. Its measures are those of `keywords`; here are its formats and what it
does to answers before it compares them, so that its printed figures come out:

    gold      word.pos item :: answer count;answer count;     system   word.pos item :: answer;answer
                                                              or       word.pos item ::: answer;... (out of ten)

Gold: an answer that contains the letters "pn" (meant: proper noun) is dropped; of what is left, an item counts when it
has two answers, or one that two people gave. An answer is a run of letters, digits, underscores, hyphens, apostrophes
and blanks of at least two characters before its count (of "11.27 kilograms" that is "27 kilograms"; ASCII alone);
one apostrophe goes. The mode is the first answer, unless a later one has the same count; gold files list answers by
falling count, and there it is the single most frequent one. System: "non-" and "non " join what follows, hyphens
become blanks, one apostrophe goes (the program's table of American spellings is never reached: they stay). An answer
with a hyphen in the gold is credited under the spelling with a blank, while a mode with a hyphen can never be hit. Of
an item's lines the first counts. Lines for items that are not in the gold are not read.

In two things the program is not followed. Where a line holds no answer, it looks at the answers of the line before;
here such an item is not attempted, as the task's description says. An item of which no answer can be read (each a
single letter) is in its total; here it is left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evaluation.metrics.errors import InvalidFile, UnknownName
from evaluation.metrics.keywords.measures import (
    KeywordScore,
    keyword_best,
    keyword_best_mode,
    keyword_oot,
    keyword_oot_mode,
)

__all__ = [
    "SubstitutionGold",
    "SubstitutionScores",
    "read_answers",
    "read_gold",
    "substitution_scores",
]

MEASURES = ("best", "oot")
_MARKS = {"best": "::", "oot": ":::"}

_GOLD_LINE = re.compile(r"([\w.]+) (\S+) :: ?(.*)", re.ASCII)
_SYSTEM_LINES = {
    name: re.compile(rf"([\w.]+) (\S+) {mark}(?: (.*)|$)", re.ASCII) for name, mark in _MARKS.items()
}
_ANSWER = re.compile(r"(\w[\w'\-\s]+) (\d+)", re.ASCII)
_COUNT = re.compile(r"[\w'\-\s]+ (\d+)", re.ASCII)
_NON = re.compile(r"non[\s-](.*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class SubstitutionGold:
    """The counted items: votes per answer, and the mode or None."""

    answers: Mapping[str, Mapping[str, int]]
    modes: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class SubstitutionScores:
    """The figures of the task's program for a system file, as shares: `normal`, and `mode`."""

    normal: KeywordScore
    mode: KeywordScore


def read_gold(lines: Iterable[str]) -> SubstitutionGold:
    """Read a gold file. Raise InvalidFile for a malformed line, or a repeated item."""
    answers: dict[str, Mapping[str, int]] = {}
    modes: dict[str, str | None] = {}
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _GOLD_LINE.search(line)
        if match is None:
            raise InvalidFile(
                f"line {number} of the gold is {line.strip()!r}, expected 'word.pos item :: answer count;...'"
            )
        item = match[2]
        if item in seen:
            raise InvalidFile(f"line {number} of the gold is of item {item} again, expected each item once")
        seen.add(item)
        given = [answer for answer in match[3].split(";") if answer.strip() and "pn" not in answer]
        counted = [
            (found[1].replace("'", "", 1), int(found[2])) for found in map(_ANSWER.search, given) if found
        ]
        people = _COUNT.search(given[0]) if given else None
        if counted and (len(given) > 1 or (people and int(people[1]) > 1)):
            first, most = counted[0]
            modes[item] = None if any(count == most for _, count in counted[1:]) else first
            answers[item] = dict(counted)
    return SubstitutionGold(answers, modes)


def read_answers(lines: Iterable[str], measure: str) -> dict[str, tuple[str, ...]]:
    """Read a system file for "best" or "oot": the normalised answers to each item.

    Raises InvalidFile for a malformed line, UnknownName for another measure.
    """
    if measure not in MEASURES:
        raise UnknownName("measure", measure, MEASURES)
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _SYSTEM_LINES[measure].search(line.rstrip("\r\n"))
        if match is None:
            raise InvalidFile(
                f"line {number} of the answers is {line.strip()!r}, "
                f"expected 'word.pos item {_MARKS[measure]} answer;answer'"
            )
        given = (match[3] or "").rstrip(";") if (match[3] or "").strip() else ""
        answers = tuple(map(_spelt, given.split(";"))) if given else ()
        found.setdefault(match[2], answers)
    return found


def substitution_scores(
    answers: Mapping[str, tuple[str, ...]], gold: SubstitutionGold, measure: str
) -> SubstitutionScores:
    """Compute the task's precision and recall for one system, normal and mode.

    `answers` and `gold` come from `read_answers` and `read_gold`; the images of the two scores are the
    gold items in order. Raises UnknownName for a measure other than "best" and "oot".
    """
    if measure not in MEASURES:
        raise UnknownName("measure", measure, MEASURES)
    normal, mode = (keyword_best, keyword_best_mode) if measure == "best" else (keyword_oot, keyword_oot_mode)
    own = [answers.get(item, ()) for item in gold.answers]
    tags = []
    for one in gold.answers.values():
        blank: Counter[str] = Counter()
        for tag, count in one.items():
            blank[tag.replace("-", " ")] += count
        tags.append(blank)
    return SubstitutionScores(normal(own, tags), mode(own, tags, modes=list(gold.modes.values())))


def _spelt(answer: str) -> str:
    joined = _NON.fullmatch(answer)
    answer = f"non{joined[1]}" if joined else answer
    return answer.replace("-", " ").replace("'", "", 1)
