"""Rules run over finished work as if they had been on from the beginning: page by page, in the order of submission."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from annotation.rules.base import Finding, Rule
from annotation.rules.history import WINDOW, Answers, Given, History, Other, make_history


class Page(NamedTuple):
    """One submitted assignment: who, and the judgments in the order they were shown."""

    worker: int
    given: Sequence[Given]


@dataclass(slots=True)
class Ledger:
    """Everything said so far; pages are added in the order of their submission."""

    answers: Answers
    _given: dict[int, list[Given]] = field(default_factory=lambda: defaultdict(list))
    _votes: dict[int, list[tuple[int, Other]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, page: Page) -> None:
        """Another page of work."""
        self._given[page.worker].extend(page.given)
        for one in page.given:
            self._votes[one.unit].append((page.worker, Other(one.value, one.seconds)))

    def count(self, worker: int) -> int:
        """How many judgments the worker has made."""
        return len(self._given[worker])

    def history(self, worker: int, *, fresh: int, others: bool = True) -> History:
        """The worker as a rule sees them at this moment."""
        given = self._given[worker]
        said: Mapping[int, Sequence[Other]] = {}
        if others:
            said = {
                one.unit: [vote for who, vote in self._votes[one.unit] if who != worker]
                for one in given[-WINDOW:]
            }
        return make_history(given, said, answers=self.answers, total=len(given), fresh=fresh)


def examine(ledger: Ledger, worker: int, *, fresh: int, rules: Iterable[Rule]) -> list[tuple[Rule, Finding]]:
    """What the rules find after the worker's latest page, which brought ``fresh`` judgments."""
    due = [rule for rule in rules if rule.is_due(total=ledger.count(worker), fresh=fresh)]
    if not due:
        return []
    history = ledger.history(worker, fresh=fresh, others=any(rule.needs_others for rule in due))
    return [(rule, finding) for rule in due if (finding := rule.examine(history)) is not None]


def replay(
    pages: Iterable[Page], *, rules: Sequence[Rule], answers: Answers
) -> dict[int, dict[str, Finding]]:
    """Worker -> rule -> the first finding against them; workers without any are left out."""
    ledger = Ledger(answers)
    found: dict[int, dict[str, Finding]] = {}
    for page in pages:
        ledger.add(page)
        open_rules = [rule for rule in rules if rule.name not in found.get(page.worker, {})]
        for rule, finding in examine(ledger, page.worker, fresh=len(page.given), rules=open_rules):
            found.setdefault(page.worker, {})[rule.name] = finding
    return found
