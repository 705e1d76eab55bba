"""The rules of a study at work: after each page, what they find about the worker, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction

from annotation.histories import answers_of, history_of, judged, known_history_of
from annotation.models import Assignment, Case, QualityRule
from annotation.rules import Finding, Rule, findings
from annotation.services.exclusions import exclude_worker, pause_worker
from annotation.services.rules import rule_of
from judgments.errors import WrongState

Found = tuple[QualityRule, Rule, Finding]


def watch_worker(*, assignment: Assignment, fresh: int) -> list[Case]:
    """Let the study's rules look at the worker who just submitted ``assignment`` with ``fresh`` judgments.

    A rule speaks once of a worker: where it has a case, open or decided, it is silent from then on. A study without
    enabled rules costs one query.
    """
    study, worker = assignment.study, assignment.worker
    rows = list(QualityRule.objects.filter(study=study, enabled=True).exclude(
        rule__in=Case.objects.filter(study=study, worker=assignment.worker_id).values("rule")
    ))  # fmt: skip
    if not rows or worker.anonymous:
        return []
    found = _look(assignment, rows, fresh)
    if not found:
        return []
    with transaction.atomic():
        return [case for row, rule, finding in found if (case := _act(assignment, row, rule, finding))]


def _look(assignment: Assignment, rows: Sequence[QualityRule], fresh: int) -> list[Found]:
    """What the rules find, in as few queries as those that are due need."""
    study, worker = assignment.study, assignment.worker
    answers = answers_of(study)
    rules: dict[str, tuple[QualityRule, Rule]] = {}
    for row in rows:
        try:
            rule = rule_of(study, row.rule, row.settings)
        except WrongState:  # a row of another version: it says nothing, and the study's page shows it
            continue
        if rule.applies(answers):
            rules[rule.name] = (row, rule)
    if not rules:
        return []
    total = judged(study).filter(assignment__worker=worker).count()
    due = [rule for _, rule in rules.values() if rule.is_due(total=total, fresh=fresh)]
    found: list[tuple[Rule, Finding]] = []
    if at_large := [rule for rule in due if not rule.on_controls]:
        others = any(rule.needs_others for rule in at_large)
        history = history_of(study, worker, total=total, fresh=fresh, others=others)
        found += findings(at_large, history, judgments=total)
    if on_controls := [rule for rule in due if rule.on_controls]:
        history = known_history_of(study, worker, latest=assignment.pk)
        if history.fresh:
            found += findings(on_controls, history, judgments=total)
    return [(*rules[rule.name], finding) for rule, finding in found]


def _act(assignment: Assignment, row: QualityRule, rule: Rule, finding: Finding) -> Case | None:
    """A case with the evidence, and what the rule does; None where the same case came at the same moment."""
    study, worker = assignment.study, assignment.worker
    evidence = evidence_of(rule, finding)
    try:
        with transaction.atomic():
            case = Case.objects.create(
                study=study,
                worker=worker,
                rule=row.rule,
                action=row.action,
                evidence=evidence,
                answers=finding.judgments,
            )
    except IntegrityError:
        return None
    if row.action == QualityRule.Action.PAUSE:
        pause_worker(study=study, worker=worker)
    if row.action == QualityRule.Action.EXCLUDE:
        case.exclusion = exclude_worker(
            study=study, worker=worker, rule=row.rule, why=finding.words, evidence=evidence
        )
        case.save(update_fields=["exclusion"])
    return case


def evidence_of(rule: Rule, finding: Finding) -> dict[str, Any]:
    """What a case keeps: the sentence, its numbers, and the settings they were held against."""
    return {"words": finding.words, "numbers": finding.evidence, "settings": rule.model_dump(mode="json")}


def is_stopped(cases: Sequence[Case]) -> bool:
    """Whether one of them stopped the worker."""
    return any(case.action != QualityRule.Action.FLAG for case in cases)
