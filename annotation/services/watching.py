"""The rules of a study at work: after each page, what they find about the worker, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction

from annotation.histories import answers_of, history_of, judgments_of, known_history_of, pages_done
from annotation.models import Assignment, Case, QualityRule
from annotation.rules import Finding, Rule, findings
from annotation.rules.base import pages_since_look
from annotation.services.exclusions import exclude_worker, pause_worker
from annotation.services.rules import rule_of
from judgments.errors import WrongState
from judgments.models import Study


def watch_worker(*, assignment: Assignment) -> list[Case]:
    """Let the study's rules look at the worker who just submitted ``assignment``.

    A rule speaks once of a worker: where it has a case, open or decided, it is silent from then on. A study without
    enabled rules costs one query, a page after which the rules are not let look two.
    """
    study = assignment.study
    rows = list(QualityRule.objects.filter(study=study, enabled=True))
    if not rows:
        return []
    pages = pages_since_look(pages_done(study, assignment.worker_id))
    if not pages:
        return []
    spoken = set(Case.objects.filter(study=study, worker=assignment.worker_id).values_list("rule", flat=True))
    rules = _rules_that_apply(study, [row for row in rows if row.rule not in spoken])
    found = _look(assignment, [rule for _, rule in rules.values()], pages)
    if not found or assignment.worker.anonymous:
        return []
    with transaction.atomic():
        acted = (_act(assignment, rules[rule.name][0], rule, finding) for rule, finding in found)
        return [case for case in acted if case is not None]


def _look(assignment: Assignment, rules: Sequence[Rule], pages: int) -> list[tuple[Rule, Finding]]:
    """What the rules find about the worker's latest ``pages``, in as few queries as those that are due need."""
    study, worker = assignment.study, assignment.worker_id
    total = judgments_of(study, worker)
    found: list[tuple[Rule, Finding]] = []
    if at_large := [rule for rule in rules if not rule.on_controls and rule.least <= total]:
        others = any(rule.needs_others for rule in at_large)
        history = history_of(study, worker, total=total, pages=pages, others=others)
        found += findings(at_large, history, judgments=total)
    if on_controls := [rule for rule in rules if rule.on_controls and rule.least <= total]:
        history = known_history_of(study, assignment.worker, pages=pages)
        due = [rule for rule in on_controls if rule.is_due(total=history.total, fresh=history.fresh)]
        found += findings(due, history, judgments=total)
    return found


def _rules_that_apply(study: Study, rows: Sequence[QualityRule]) -> dict[str, tuple[QualityRule, Rule]]:
    """The rules by name, with their rows; a row of another version says nothing, and the study's page shows it."""
    answers = answers_of(study)
    rules: dict[str, tuple[QualityRule, Rule]] = {}
    for row in rows:
        try:
            rule = rule_of(study, row.rule, row.settings)
        except WrongState:
            continue
        if rule.applies(answers):
            rules[rule.name] = (row, rule)
    return rules


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
