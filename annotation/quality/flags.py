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
    """Count a page of ``worker`` that goes without control items, as they have met them all.

    Args:
        missing: row ids of the units of the HIT, of which all are ``units``, that are left out.
    """
    own = {"study": study, "worker": worker, "what": StudyAlarm.What.CONTROLS_USED_UP}
    # the captions under a control image are one control item to whoever designs the study
    items = len({unit.item_id for unit in units if unit.pk in missing})
    raised = StudyAlarm.objects.filter(**own).update(
        pages=F("pages") + 1, missing=F("missing") + items, last_at=timezone.now()
    )
    if not raised:  # a worker takes one HIT at a time: nobody else makes the same row
        StudyAlarm.objects.create(**own, pages=1, missing=items)


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


STOPS = (QualityRule.Action.PAUSE, QualityRule.Action.EXCLUDE)


@transaction.atomic
def confirm_case(*, case: Case, why: str, by: User | None = None) -> Case:
    """open -> confirmed: the worker is excluded, where the rule had not done it already.

    Raises:
        WrongState: no reason is given, or the case was decided.
    """
    locked = _open_case(case, why)
    exclusion = standing_exclusion(locked.study, locked.worker) or exclude_worker(
        study=locked.study, worker=locked.worker, rule=locked.rule, why=why, evidence=locked.evidence, by=by
    )
    return _decide(locked, Case.State.CONFIRMED, why, by, exclusion)


@transaction.atomic
def dismiss_case(*, case: Case, why: str, by: User | None = None) -> Case:
    """open -> dismissed: the exclusion that the case made is lifted, and a paused worker goes on unless another open
    case says otherwise. The rule stays silent about this worker.

    Raises:
        WrongState: no reason is given, or the case was decided.
    """
    locked = _open_case(case, why)
    decided = _decide(locked, Case.State.DISMISSED, why, by, locked.exclusion)
    if locked.exclusion is not None:
        lift_exclusion(exclusion=locked.exclusion, why=why, by=by)
    others = Case.objects.filter(
        study=locked.study_id, worker=locked.worker_id, state=Case.State.OPEN, action__in=STOPS
    )
    # an exclusion that is lifted makes its worker active
    change = pause_worker if others.exists() else resume_worker
    change(study=locked.study, worker=locked.worker)
    return decided


@transaction.atomic
def lift_by_hand(*, exclusion: Exclusion, why: str, by: User | None = None) -> Exclusion:
    """Take an exclusion back; cases that confirmed it stay as they are, those that still wait are dismissed with it.

    Raises:
        WrongState: no reason is given.
    """
    _require_reason(why)
    # cases before exclusions, as where a case is decided
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
        raise WrongState(f"Nothing was changed: this case was {found.get_state_display()} before.")
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
        words=f"The case of {case.worker.name}, found by the rule {case.rule}, was {state.label}.",
        why=why.strip(),
        by=by,
        case=case.pk,
        worker=case.worker.name,
    )
    return case
