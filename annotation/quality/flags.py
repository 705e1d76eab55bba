"""Run the quality detectors after each page, store flags and alarms, and decide on flags."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from annotation.models import Assignment, Case, Exclusion, QualityRule, StudyAlarm, Worker
from annotation.quality.detectors import Finding, Rule, findings
from annotation.quality.detectors.base import pages_since_look
from annotation.quality.exclusions import (
    exclude_worker,
    lift_exclusion,
    pause_worker,
    resume_worker,
    standing_exclusion,
)
from annotation.quality.histories import answers_of, history_of, judgments_of, known_history_of, pages_done
from annotation.quality.rules import rule_of
from common.errors import WrongState
from judgments.models import Study, Unit
from judgments.studies.log import note_event


@transaction.atomic
def raise_used_up(*, study: Study, worker: Worker, missing: Collection[int], units: Sequence[Unit]) -> None:
    """Count an assignment of ``worker`` without some control items, because they have met them all.

    Args:
        missing: row ids of the left out units.
        units: all units of the HIT.
    """
    own = {"study": study, "worker": worker, "what": StudyAlarm.What.CONTROLS_USED_UP}
    # for the designer, all captions of a control image are one control item
    items = len({unit.item_id for unit in units if unit.pk in missing})
    raised = StudyAlarm.objects.filter(**own).update(
        pages=F("pages") + 1, missing=F("missing") + items, last_at=timezone.now()
    )
    if not raised:  # a worker claims one HIT at a time: nobody else creates this row
        StudyAlarm.objects.create(**own, pages=1, missing=items)


def watch_worker(*, assignment: Assignment) -> list[Case]:
    """Run the study's detectors on the worker who submitted ``assignment``.

    A detector with an open or decided flag on the worker is silent. A study without enabled rules costs one
    query, a page without a due look two.
    """
    study = assignment.study
    rows = list(QualityRule.objects.filter(study=study, enabled=True))
    if not rows:
        return []
    pages = pages_since_look(pages_done(study, assignment.worker_id))
    if not pages:
        return []
    flagged = set(
        Case.objects.filter(study=study, worker=assignment.worker_id).values_list("rule", flat=True)
    )
    rules = _rules_that_apply(study, [row for row in rows if row.rule not in flagged])
    found = _examine_worker(assignment, [rule for _, rule in rules.values()], pages)
    if not found or assignment.worker.anonymous:
        return []
    with transaction.atomic():
        acted = (_store_flag(assignment, rules[rule.name][0], rule, finding) for rule, finding in found)
        return [case for case in acted if case is not None]


def _examine_worker(assignment: Assignment, rules: Sequence[Rule], pages: int) -> list[tuple[Rule, Finding]]:
    """Return the findings about the worker's latest ``pages``, with the queries that due detectors need."""
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
    """Return the detectors by name with their rows; skip rows of another version, which the study's page shows."""
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


def _store_flag(assignment: Assignment, row: QualityRule, rule: Rule, finding: Finding) -> Case | None:
    """Store a flag with its evidence and carry out the rule's action; None if the same flag was just stored."""
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
    return {"words": finding.words, "numbers": finding.evidence, "settings": rule.model_dump(mode="json")}


def is_stopped(cases: Sequence[Case]) -> bool:
    return any(case.action != QualityRule.Action.FLAG for case in cases)


STOPS = (QualityRule.Action.PAUSE, QualityRule.Action.EXCLUDE)


@transaction.atomic
def confirm_case(*, case: Case, why: str, by: User | None = None) -> Case:
    """Confirm an open flag and exclude the worker, unless the rule did so."""
    locked = _open_case(case, why)
    exclusion = standing_exclusion(locked.study, locked.worker) or exclude_worker(
        study=locked.study, worker=locked.worker, rule=locked.rule, why=why, evidence=locked.evidence, by=by
    )
    return _decide(locked, Case.State.CONFIRMED, why, by, exclusion)


@transaction.atomic
def dismiss_case(*, case: Case, why: str, by: User | None = None) -> Case:
    """Dismiss an open flag: lift its exclusion, and resume the worker unless another flag is open.

    The detector stays silent about this worker.
    """
    locked = _open_case(case, why)
    decided = _decide(locked, Case.State.DISMISSED, why, by, locked.exclusion)
    if locked.exclusion is not None:
        lift_exclusion(exclusion=locked.exclusion, why=why, by=by)
    others = Case.objects.filter(
        study=locked.study_id, worker=locked.worker_id, state=Case.State.OPEN, action__in=STOPS
    )
    # lifting an exclusion makes the worker active
    change = pause_worker if others.exists() else resume_worker
    change(study=locked.study, worker=locked.worker)
    return decided


@transaction.atomic
def lift_by_hand(*, exclusion: Exclusion, why: str, by: User | None = None) -> Exclusion:
    """Lift an exclusion. Confirmed flags stay; open ones are dismissed."""
    _require_reason(why)
    # flags before exclusions, as where a flag is decided
    waiting = Case.objects.filter(exclusion=exclusion, state=Case.State.OPEN).order_by("pk")
    cases = list(waiting.select_for_update())
    lifted = lift_exclusion(exclusion=exclusion, why=why, by=by)
    for case in cases:
        _decide(case, Case.State.DISMISSED, why, by, exclusion)
    return lifted


def _open_case(case: Case, why: str) -> Case:
    _require_reason(why)
    locked = Case.objects.select_for_update(of=("self",)).select_related("study", "worker", "exclusion")
    found = locked.get(pk=case.pk)
    if found.state != Case.State.OPEN:
        raise WrongState(f"Nothing was changed: this flag was {found.get_state_display()} before.")
    return found


def _require_reason(why: str) -> None:
    if not why.strip():
        raise WrongState("Nothing was changed: say why, in a sentence that others can read.")


def _decide(case: Case, state: Case.State, why: str, by: User | None, exclusion: Exclusion | None) -> Case:
    case.state, case.decision, case.decided_by = state, why.strip()[:500], by
    case.decided_at, case.exclusion = timezone.now(), exclusion
    case.save(update_fields=["state", "decision", "decided_by", "decided_at", "exclusion"])
    note_event(
        study=case.study,
        what=f"case-{state.value}",
        words=f"The flag of the detector {case.rule} on {case.worker.name} was {state.label}.",
        why=why.strip(),
        by=by,
        case=case.pk,
        worker=case.worker.name,
    )
    return case
