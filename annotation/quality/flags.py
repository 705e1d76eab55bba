"""Run the detectors after some pages (`detectors.schedule`), and store their flags and people's decisions on flags.

A flag (``Case``) is a detector's finding about a worker. Its action may pause the worker, who then gets no more work,
or exclude them, so that their answers are not used. People confirm or dismiss flags, and can undo both actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import pgettext

from annotation.models import Assignment, Case, Exclusion, QualityRule
from annotation.quality.detectors.base import Finding, Rule, collect_findings
from annotation.quality.detectors.schedule import pages_since_look
from annotation.quality.exclusions import (
    MAX_WHY_LENGTH,
    active_exclusion,
    exclude_worker,
    lift_exclusion,
    pause_worker,
    unpause_worker,
)
from annotation.quality.histories import (
    answer_format_of,
    control_history_of,
    count_submitted_pages,
    count_worker_judgments,
    history_of,
)
from annotation.quality.rules import make_study_rule
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import Study

# actions after which the worker gets no more work
STOPPING_ACTIONS = (QualityRule.Action.PAUSE, QualityRule.Action.EXCLUDE)


def run_detectors(*, assignment: Assignment) -> list[Case]:
    """Run the study's detectors on the worker who submitted ``assignment``; return the new flags.

    A detector that has already flagged the worker does not run again. If no detector is enabled, this is one query.
    """
    study = assignment.study
    rows = list(QualityRule.objects.filter(study=study, enabled=True))
    if not rows:
        return []
    new_page_count = pages_since_look(count_submitted_pages(study, assignment.worker_id))
    if not new_page_count:  # the detectors do not examine the worker after this page
        return []
    flagged_rules = set(
        Case.objects.filter(study=study, worker=assignment.worker_id).values_list("rule", flat=True)
    )
    rules = _applicable_rules(study, [row for row in rows if row.rule not in flagged_rules])
    findings = _examine_worker(assignment, rules, new_page_count)
    # an anonymous worker is no person, but stands for one answer of a published total
    if not findings or assignment.worker.anonymous:
        return []
    with transaction.atomic():
        row_by_rule = {row.rule: row for row in rows}  # a row has the name of its detector
        cases = [_store_flag(assignment, row_by_rule[rule.name], rule, finding) for rule, finding in findings]
        return [case for case in cases if case is not None]


def _examine_worker(
    assignment: Assignment, rules: Sequence[Rule], new_page_count: int
) -> list[tuple[Rule, Finding]]:
    """Let detectors examine the worker of ``assignment``. Return those that have a finding, with the finding."""
    study, worker = assignment.study, assignment.worker_id
    total = count_worker_judgments(study, worker)
    findings: list[tuple[Rule, Finding]] = []
    general_rules = [rule for rule in rules if not rule.controls_only and rule.least <= total]
    if general_rules:
        needs_others = any(rule.needs_others for rule in general_rules)
        needs_texts = any(rule.needs_texts for rule in general_rules)
        history = history_of(
            study, worker, total=total, pages=new_page_count, with_others=needs_others, with_texts=needs_texts
        )
        findings += collect_findings(general_rules, history, judgments=total)
    # here ``least`` counts control items: a worker with fewer judgments has answered too few of them in any case
    control_rules = [rule for rule in rules if rule.controls_only and rule.least <= total]
    if control_rules:
        history = control_history_of(study, assignment.worker, pages=new_page_count)
        # not due without new control items
        due_rules = [
            rule for rule in control_rules if rule.is_due(total=history.total, new_count=history.new_count)
        ]
        findings += collect_findings(due_rules, history, judgments=total)
    return findings


def _applicable_rules(study: Study, rows: Sequence[QualityRule]) -> list[Rule]:
    """Return the detectors that apply to the study's answers.

    Rows whose settings are invalid, because they were stored by another version, are left out.
    """
    answer_format = answer_format_of(study)
    rules = []
    for row in rows:
        try:
            rule = make_study_rule(study, row.rule, row.settings)
        except WrongState:
            continue
        if rule.applies_to(answer_format):
            rules.append(rule)
    return rules


def _store_flag(assignment: Assignment, row: QualityRule, rule: Rule, finding: Finding) -> Case | None:
    """Store a flag and carry out the detector's action.

    Return None if another process stored the same flag just before. If the detector may only flag, the action of its
    row is ignored, since earlier versions stored other actions.
    """
    study, worker = assignment.study, assignment.worker
    action = QualityRule.Action.FLAG if rule.only_flags else row.action
    evidence = evidence_of(rule, finding)
    try:
        with transaction.atomic():
            case = Case.objects.create(
                study=study,
                worker=worker,
                rule=row.rule,
                action=action,
                evidence=evidence,
                answers=finding.judgments,
            )
    except IntegrityError:
        return None
    if action == QualityRule.Action.PAUSE:
        pause_worker(study=study, worker=worker)
    if action == QualityRule.Action.EXCLUDE:
        case.exclusion = exclude_worker(
            study=study, worker=worker, rule=row.rule, why=finding.sentence, evidence=evidence
        )
        case.save(update_fields=["exclusion"])
    return case


def evidence_of(rule: Rule, finding: Finding) -> dict[str, Any]:
    """Return a finding as it is stored in flags and exclusions.

    With the numbers and the settings, ``describe_evidence`` makes the sentence in another language. An example:
    ``{"words": "Answers that ...", "numbers": {"n": 20, "fast": 18, "median": 0.3}, "settings": {"least": 20, ...}}``.
    """
    return {"words": finding.sentence, "numbers": finding.evidence, "settings": rule.model_dump(mode="json")}


def has_stopping_flag(cases: Sequence[Case]) -> bool:
    """Return whether one of these new flags paused or excluded the worker."""
    return any(case.action in STOPPING_ACTIONS for case in cases)


@transaction.atomic
def confirm_flag(*, case: Case, why: str, by: User | None) -> Case:
    """Confirm an open flag. Exclude the worker, unless they are already excluded."""
    open_case = _lock_open_case(case)
    study, worker = open_case.study, open_case.worker
    exclusion = active_exclusion(study, worker) or exclude_worker(
        study=study, worker=worker, rule=open_case.rule, why=why, evidence=open_case.evidence, by=by
    )
    return _store_decision(open_case, Case.State.CONFIRMED, why, by, exclusion)


@transaction.atomic
def dismiss_flag(*, case: Case, why: str, by: User | None) -> Case:
    """Dismiss an open flag: lift its exclusion, and unpause the worker unless another open flag stops them."""
    open_case = _lock_open_case(case)
    study, worker = open_case.study, open_case.worker
    dismissed_case = _store_decision(open_case, Case.State.DISMISSED, why, by, open_case.exclusion)
    if open_case.exclusion is not None:
        lift_exclusion(exclusion=open_case.exclusion, why=why, by=by)
    other_cases = Case.objects.filter(
        study=study, worker=worker, state=Case.State.OPEN, action__in=STOPPING_ACTIONS
    )
    if other_cases.exists():  # the worker stays stopped, but lifting the exclusion made them active
        pause_worker(study=study, worker=worker)
    else:
        unpause_worker(study=study, worker=worker)
    return dismissed_case


@transaction.atomic
def readmit_worker(*, exclusion: Exclusion, why: str, by: User | None = None) -> Exclusion:
    """Lift an exclusion. Confirmed flags stay; open flags are dismissed."""
    # lock flags before exclusions, as confirm_flag and dismiss_flag do
    open_cases = Case.objects.filter(exclusion=exclusion, state=Case.State.OPEN).order_by("pk")
    cases = list(open_cases.select_for_update())
    lifted_exclusion = lift_exclusion(exclusion=exclusion, why=why, by=by)
    for case in cases:
        _store_decision(case, Case.State.DISMISSED, why, by, exclusion)
    return lifted_exclusion


def _lock_open_case(case: Case) -> Case:
    """Lock a flag, and return its current row. Raise WrongState if somebody has already decided about it."""
    locked_cases = Case.objects.select_for_update(of=("self",)).select_related("study", "worker", "exclusion")
    open_case = locked_cases.get(pk=case.pk)
    if open_case.state != Case.State.OPEN:
        raise WrongState(
            pgettext("staff", "Nothing was changed: this flag is already %(state)s.")
            % {"state": open_case.get_state_display()}
        )
    return open_case


def _store_decision(
    case: Case, state: Case.State, why: str, by: User | None, exclusion: Exclusion | None
) -> Case:
    case.state = state
    case.decision = why.strip()[:MAX_WHY_LENGTH]
    case.exclusion = exclusion
    case.decided_by = by
    case.decided_at = timezone.now()
    case.save(update_fields=["state", "decision", "decided_by", "decided_at", "exclusion"])
    note_event(
        study=case.study,
        what=f"case-{state.value}",
        sentence=f"The flag of the detector {case.rule} on {case.worker.name} was {state.value}.",
        why=why.strip(),
        by=by,
        case=case.pk,
        worker=case.worker.name,
    )
    return case
