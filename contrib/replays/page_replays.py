"""Run detectors page by page, in the order in which pages were submitted, without a database.

As in a running study, detectors examine a worker only after some of the pages (`pages_since_look`). They then examine
everything that the worker and others had answered until then.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from annotation.quality.detectors.base import Finding, Rule, collect_findings
from annotation.quality.detectors.history import (
    MAX_TEXTS_OF_OTHERS,
    WINDOW,
    AnswerFormat,
    History,
    OthersJudgment,
    OthersText,
    OwnJudgment,
    make_history,
)
from annotation.quality.detectors.schedule import pages_since_look
from contrib.replays.submitted_pages import SubmittedPage


@dataclass(slots=True)
class JudgmentLog:
    """The judgments of the pages that were replayed so far, from which detectors get their histories.

    Workers and units are row ids.
    """

    answer_format: AnswerFormat
    _page_counts: Counter[int] = field(default_factory=Counter)  # by worker
    _unexamined_counts: Counter[int] = field(default_factory=Counter)  # judgments by worker
    _judgments: dict[int, list[OwnJudgment]] = field(default_factory=lambda: defaultdict(list))  # by worker
    # By unit, the workers and their answers.
    _votes: dict[int, list[tuple[int, OthersJudgment]]] = field(default_factory=lambda: defaultdict(list))
    _texts: list[OthersText] = field(default_factory=list)

    def add(self, page: SubmittedPage) -> None:
        self._page_counts[page.worker] += 1
        self._unexamined_counts[page.worker] += len(page.judgments)
        self._judgments[page.worker].extend(page.judgments)
        for judgment in page.judgments:
            self._votes[judgment.unit].append((page.worker, OthersJudgment(judgment.value, judgment.seconds)))
            if judgment.written_answer is not None:
                self._texts.append(
                    OthersText(
                        page.worker,
                        judgment.unit,
                        judgment.written_answer.text,
                        judgment.written_answer.position,
                    )
                )

    def judgment_count(self, worker: int) -> int:
        return len(self._judgments[worker])

    def pop_unexamined_count(self, worker: int) -> int:
        """Return the number of the worker's judgments since the last examination, and reset it.

        Return 0, and do not reset it, if no examination is due.
        """
        is_due = pages_since_look(self._page_counts[worker]) > 0  # 0 says that none is due
        if not is_due:
            return 0
        return self._unexamined_counts.pop(worker, 0)

    def history(self, worker: int, *, fresh: int, with_others: bool, with_texts: bool) -> History:
        """Return the history of a worker.

        Args:
            fresh: number of the worker's latest judgments that no detector has examined.
            with_others: whether the history has other workers' answers to the same units.
            with_texts: whether the history has texts that other workers wrote.
        """
        judgments = self._judgments[worker]
        votes: Mapping[int, Sequence[OthersJudgment]] = {}
        if with_others:
            votes = {
                judgment.unit: [vote for voter, vote in self._votes[judgment.unit] if voter != worker]
                for judgment in judgments[-WINDOW:]
            }
        latest_texts = (text for text in reversed(self._texts) if text.worker != worker)
        others_texts = list(islice(latest_texts, MAX_TEXTS_OF_OTHERS)) if with_texts else []
        return make_history(
            judgments,
            votes,
            answer_format=self.answer_format,
            total=len(judgments),
            new_count=fresh,
            others_texts=others_texts,
        )

    def control_history(self, worker: int, *, fresh: int) -> History:
        """Return the history of a worker on control items."""
        return control_history(self._judgments[worker], answer_format=self.answer_format, fresh=fresh)


def control_history(judgments: Sequence[OwnJudgment], *, answer_format: AnswerFormat, fresh: int) -> History:
    """Return a history of the control items among a worker's judgments, of which the last ``fresh`` are unexamined."""
    control_judgments = [judgment for judgment in judgments if judgment.is_control]
    first_fresh = len(judgments) - fresh
    new_count = sum(judgment.is_control for judgment in judgments[first_fresh:])
    return make_history(
        control_judgments, {}, answer_format=answer_format, total=len(control_judgments), new_count=new_count
    )


def examine_latest_page(
    log: JudgmentLog, worker: int, *, rules: Iterable[Rule]
) -> list[tuple[Rule, Finding]]:
    """Return the findings of the detectors after the worker's latest page; none if no examination is due."""
    fresh = log.pop_unexamined_count(worker)
    if not fresh:
        return []
    total = log.judgment_count(worker)
    applicable_rules = [rule for rule in rules if rule.applies_to(log.answer_format)]
    due_rules = [
        rule
        for rule in applicable_rules
        if not rule.controls_only and rule.is_due(total=total, new_count=fresh)
    ]
    findings: list[tuple[Rule, Finding]] = []
    if due_rules:
        with_others = any(rule.needs_others for rule in due_rules)
        with_texts = any(rule.needs_texts for rule in due_rules)
        history = log.history(worker, fresh=fresh, with_others=with_others, with_texts=with_texts)
        findings += collect_findings(due_rules, history, judgments=total)
    # Detectors of check questions get a history of these alone, and are due by the number of new ones.
    control_rules = [rule for rule in applicable_rules if rule.controls_only]
    if control_rules:
        controls = log.control_history(worker, fresh=fresh)
        if controls.new_count:
            due_rules = [
                rule
                for rule in control_rules
                if rule.is_due(total=controls.total, new_count=controls.new_count)
            ]
            findings += collect_findings(due_rules, controls, judgments=total)
    return findings


def replay_detectors(
    pages: Iterable[SubmittedPage], *, rules: Sequence[Rule], answer_format: AnswerFormat
) -> dict[int, dict[str, Finding]]:
    """Return the first finding of each detector about each worker, by worker and by name of the detector."""
    log = JudgmentLog(answer_format)
    findings: dict[int, dict[str, Finding]] = {}
    for page in pages:
        log.add(page)
        rules_without_finding = [rule for rule in rules if rule.name not in findings.get(page.worker, {})]
        for rule, finding in examine_latest_page(log, page.worker, rules=rules_without_finding):
            findings.setdefault(page.worker, {})[rule.name] = finding
    return findings
