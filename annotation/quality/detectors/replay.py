"""Run detectors over finished work as if enabled from the start, page by page in order of submission."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from annotation.quality.detectors.base import (
    MOST_OTHERS_TEXTS,
    WINDOW,
    AnswerFormat,
    Finding,
    History,
    OthersJudgment,
    OthersText,
    OwnJudgment,
    Rule,
    make_history,
    pages_since_look,
)


class Page(NamedTuple):
    worker: int
    given: Sequence[OwnJudgment]


@dataclass(slots=True)
class JudgmentLog:
    answers: AnswerFormat
    _pages: Counter[int] = field(default_factory=Counter)
    _unseen: Counter[int] = field(default_factory=Counter)
    _given: dict[int, list[OwnJudgment]] = field(default_factory=lambda: defaultdict(list))
    _votes: dict[int, list[tuple[int, OthersJudgment]]] = field(default_factory=lambda: defaultdict(list))
    _texts: list[OthersText] = field(default_factory=list)

    def add(self, page: Page) -> None:
        self._pages[page.worker] += 1
        self._unseen[page.worker] += len(page.given)
        self._given[page.worker].extend(page.given)
        for one in page.given:
            self._votes[one.unit].append((page.worker, OthersJudgment(one.value, one.seconds)))
            if one.written is not None:
                self._texts.append(OthersText(page.worker, one.unit, one.written.text, one.written.at))

    def count(self, worker: int) -> int:
        return len(self._given[worker])

    def take_new_judgments(self, worker: int) -> int:
        """Return the number of judgments since the last look; 0 if no look is due."""
        if not pages_since_look(self._pages[worker]):
            return 0
        return self._unseen.pop(worker, 0)

    def history(self, worker: int, *, fresh: int, others: bool = True, texts: bool = False) -> History:
        given = self._given[worker]
        votes: Mapping[int, Sequence[OthersJudgment]] = {}
        if others:
            votes = {
                one.unit: [vote for who, vote in self._votes[one.unit] if who != worker]
                for one in given[-WINDOW:]
            }
        theirs = (one for one in reversed(self._texts) if one.worker != worker)
        latest = list(islice(theirs, MOST_OTHERS_TEXTS)) if texts else []
        return make_history(
            given, votes, answers=self.answers, total=len(given), fresh=fresh, others_texts=latest
        )

    def control_history(self, worker: int, *, fresh: int) -> History:
        return control_history(self._given[worker], answers=self.answers, fresh=fresh)


def control_history(given: Sequence[OwnJudgment], *, answers: AnswerFormat, fresh: int) -> History:
    """Build a history of control items from all judgments, the last ``fresh`` of them new."""
    known = [one for one in given if one.is_control]
    new = sum(one.is_control for one in given[len(given) - fresh :])
    return make_history(known, {}, answers=answers, total=len(known), fresh=new)


def examine_latest_page(
    log: JudgmentLog, worker: int, *, rules: Iterable[Rule]
) -> list[tuple[Rule, Finding]]:
    """Return the findings after the worker's latest page, if a look is due."""
    fresh = log.take_new_judgments(worker)
    if not fresh:
        return []
    total = log.count(worker)
    applying = [rule for rule in rules if rule.applies_to(log.answers)]
    at_large = [rule for rule in applying if not rule.controls_only and rule.is_due(total=total, fresh=fresh)]
    found: list[tuple[Rule, Finding]] = []
    if at_large:
        others = any(rule.needs_others for rule in at_large)
        texts = any(rule.needs_texts for rule in at_large)
        history = log.history(worker, fresh=fresh, others=others, texts=texts)
        found += collect_findings(at_large, history, judgments=total)
    if len(at_large) < len(applying) and (known := log.control_history(worker, fresh=fresh)).fresh:
        on_controls = [
            rule
            for rule in applying
            if rule.controls_only and rule.is_due(total=known.total, fresh=known.fresh)
        ]
        found += collect_findings(on_controls, known, judgments=total)
    return found


def collect_findings(
    rules: Iterable[Rule], history: History, *, judgments: int
) -> list[tuple[Rule, Finding]]:
    found = ((rule, rule.examine(history)) for rule in rules)
    return [(rule, replace(finding, judgments=judgments)) for rule, finding in found if finding is not None]


def replay(
    pages: Iterable[Page], *, rules: Sequence[Rule], answers: AnswerFormat
) -> dict[int, dict[str, Finding]]:
    """Return the first finding of each detector by worker."""
    log = JudgmentLog(answers)
    found: dict[int, dict[str, Finding]] = {}
    for page in pages:
        log.add(page)
        open_rules = [rule for rule in rules if rule.name not in found.get(page.worker, {})]
        for rule, finding in examine_latest_page(log, page.worker, rules=open_rules):
            found.setdefault(page.worker, {})[rule.name] = finding
    return found
