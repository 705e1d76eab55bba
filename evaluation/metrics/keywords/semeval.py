"""The files of SemEval-2007 task 10, and its exact scoring (McCarthy, Navigli 2007), which MC12 uses.

    gold      word.pos item :: answer count;answer count;     system   word.pos item :: answer;answer
                                                              or       word.pos item ::: answer;... (out of ten)

As in the task's program: of the gold, answers with the letters "pn" (proper noun) are dropped; an item counts
with two answers left, or one that two people gave. An answer is a run of `_ANSWER`'s characters before its count
(of "11.27 kilograms": "27 kilograms"). The mode is the first answer, unless a later one has the same count. System
answers: "non-" and "non " join what follows, hyphens become blanks. One apostrophe of an answer is removed. A gold
answer with a hyphen is credited under its spelling with a blank, but such a mode is never hit. Of an item's lines the
first counts.

Unlike the program, an item whose line has no answer is not attempted (there it takes those of the line before), and
items without any readable answer are left out of the total.
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
    answers: Mapping[str, Mapping[str, int]]
    modes: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class SubstitutionScores:
    normal: KeywordScore
    mode: KeywordScore


def read_gold(lines: Iterable[str]) -> SubstitutionGold:
    """Read a gold file. Raise InvalidFile."""
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
    """Read the answers of a system file for one of MEASURES. Raise InvalidFile."""
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
    """Score one system; the images of the scores are the gold items in order."""
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
