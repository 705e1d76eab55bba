"""Read the files of SemEval-2007 task 10, and score them as its program does (McCarthy, Navigli 2007).

Mason and Charniak 2012 (MC12) use this scoring. The lines of the files are

    gold      word.pos item :: answer count;answer count;     system   word.pos item :: answer;answer
                                                              or       word.pos item ::: answer;... (out of ten)

As in the program, gold answers with the letters "pn" (proper noun) are dropped. An item counts if two answers are left,
or one that two people gave. An answer is a run of `_ANSWER`'s characters before its count ("27 kilograms" in "11.27
kilograms"). The mode is the first answer, unless a later one has the same count. In system answers, "non-" and "non "
are joined with the next word, and hyphens become blanks. One apostrophe of an answer is removed. A gold answer with a
hyphen is credited if a system spells it with a blank, but a mode with a hyphen is never hit. Of several lines for an
item in a system's file, only the first counts; in the gold, they are an error.

Unlike in the program, an item whose line has no answer is not attempted (the program takes the answers of the line
before), and items without any readable answer are left out of the total.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from quorum.metrics.inputs import InvalidFile, UnknownName
from quorum.metrics.keywords.measures import (
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
_NON_PREFIX = re.compile(r"non[\s-](.*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class SubstitutionGold:
    """The gold answers of a task.

    answers: for each item, the count of each answer. modes: for each item, the mode, or None if it has none.
    """

    answers: Mapping[str, Mapping[str, int]]
    modes: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class SubstitutionScores:
    """Scores of a system by one of MEASURES, and by its mode variant."""

    normal: KeywordScore
    mode: KeywordScore


def read_gold(lines: Iterable[str]) -> SubstitutionGold:
    """Return the answers and modes of a gold file.

    Raise InvalidFile if a line is not a line of gold answers, or if two lines are of the same item.
    """
    answers: dict[str, Mapping[str, int]] = {}
    modes: dict[str, str | None] = {}
    items_read: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _GOLD_LINE.search(line)
        if match is None:
            raise InvalidFile(
                f"line {number} of the gold is {line.strip()!r}, expected 'word.pos item :: answer count;...'"
            )
        item = match[2]
        if item in items_read:
            raise InvalidFile(f"line {number} of the gold is of item {item} again, expected each item once")
        items_read.add(item)
        entries = [entry for entry in match[3].split(";") if entry.strip() and "pn" not in entry]
        answer_counts = []
        for entry in entries:
            if (answer_match := _ANSWER.search(entry)) is not None:
                answer_counts.append((answer_match[1].replace("'", "", 1), int(answer_match[2])))
        # The program reads the first count also where the answer before it is not readable.
        first_count = _COUNT.search(entries[0]) if entries else None
        has_two_answers = len(entries) > 1 or (first_count is not None and int(first_count[1]) > 1)
        if answer_counts and has_two_answers:
            first_answer, top_count = answer_counts[0]
            modes[item] = None if any(count == top_count for _, count in answer_counts[1:]) else first_answer
            answers[item] = dict(answer_counts)
    return SubstitutionGold(answers, modes)


def read_answers(lines: Iterable[str], measure: str) -> dict[str, tuple[str, ...]]:
    """Return the answers of a system file for one of MEASURES. Raise InvalidFile if a line is not a line of answers."""
    if measure not in MEASURES:
        raise UnknownName("measure", measure, MEASURES)
    answers_by_item: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _SYSTEM_LINES[measure].search(line.rstrip("\r\n"))
        if match is None:
            raise InvalidFile(
                f"line {number} of the answers is {line.strip()!r}, "
                f"expected 'word.pos item {_MARKS[measure]} answer;answer'"
            )
        text_after_mark = match[3] or ""
        answer_list = text_after_mark.rstrip(";") if text_after_mark.strip() else ""
        answers = tuple(map(_normalise_spelling, answer_list.split(";"))) if answer_list else ()
        answers_by_item.setdefault(match[2], answers)
    return answers_by_item


def substitution_scores(
    answers: Mapping[str, tuple[str, ...]], gold: SubstitutionGold, measure: str
) -> SubstitutionScores:
    """Score one system. The scores of single items (`KeywordScore.images`) are in the order of the gold items."""
    if measure not in MEASURES:
        raise UnknownName("measure", measure, MEASURES)
    score = keyword_best if measure == "best" else keyword_oot
    score_mode = keyword_best_mode if measure == "best" else keyword_oot_mode
    guesses = [answers.get(item, ()) for item in gold.answers]
    gold_counts = []
    for answer_counts in gold.answers.values():
        spelled_counts: Counter[str] = Counter()
        for answer, count in answer_counts.items():
            spelled_counts[answer.replace("-", " ")] += count
        gold_counts.append(spelled_counts)
    modes = list(gold.modes.values())
    return SubstitutionScores(score(guesses, gold_counts), score_mode(guesses, gold_counts, modes=modes))


def _normalise_spelling(answer: str) -> str:
    """Return an answer of a system as the program compares it with gold answers."""
    non_prefix = _NON_PREFIX.fullmatch(answer)
    answer = f"non{non_prefix[1]}" if non_prefix else answer
    return answer.replace("-", " ").replace("'", "", 1)
