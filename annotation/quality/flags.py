"""Run the detectors after each page, store their flags, decide on flags, and exclude, pause and readmit workers.

A flag (``Case``) is a detector's finding about a worker. Its action may pause the worker, who then gets no more work,
or exclude them, so that their answers are not used. People confirm or dismiss flags, and can undo both actions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from annotation.errors import StudyPaused, WorkerExcluded, WorkPaused
from annotation.models import Assignment, Case, Exclusion, Participation, QualityRule, Worker
from annotation.models.assignments import FINISHED_STATES, LEASED_STATES, LIVE_STATES
from annotation.models.quality import worker_excluded
from annotation.quality.detectors.base import Finding, Rule, collect_findings
from annotation.quality.detectors.schedule import pages_since_look
from annotation.quality.histories import (
    answer_format_of,
    control_history_of,
    count_submitted_pages,
    count_worker_judgments,
    history_of,
)
from annotation.quality.rules import make_study_rule
from annotation.work.stopping import free_slot, lock_for_settling, reopen_slots, update_outcomes
from annotation.work.system_pairs import recount_system_pairs
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import HIT, Study

Standing = Participation.Standing

MAX_WHY_LENGTH = 500
# actions after which the worker gets no more work
STOPPING_ACTIONS = (QualityRule.Action.PAUSE, QualityRule.Action.EXCLUDE)


def refuse_paused_study(study: Study) -> None:
    """Raise StudyPaused if the study is paused."""
    if study.paused_at is not None:
        raise StudyPaused(
            gettext(
                "All your answers are kept. This study is paused and gives out no work. Please come back "
                "later. If you have just accepted a page of work elsewhere, you can return it there. This "
                "has no disadvantage for you."
            )
        )


def refuse_stopped_worker(standing: str) -> None:
    """Raise WorkPaused or WorkerExcluded if this is the standing of a worker who gets no work."""
    if standing == Participation.Standing.PAUSED:
        raise WorkPaused(
            gettext(
                "All your answers are kept. Your work in this study is paused after a check of "
                "your latest pages. Somebody will look at your work. You do not need to do anything."
            )
        )
    if standing == Participation.Standing.EXCLUDED:
        raise WorkerExcluded(
            gettext(
                "All your answers are kept, but this study does not use them any more. It also has no more "
                "work for you. If you think that this is a mistake, write to the people who run the study."
            )
        )


def active_exclusion(study: Study, worker: Worker) -> Exclusion | None:
    """Return the exclusion that is in force for the worker; None if there is none."""
    return Exclusion.objects.filter(study=study, worker=worker, lifted_at=None).first()


def exclude_worker(
    *,
    study: Study,
    worker: Worker,
    why: str,
    rule: str = "",
    evidence: Mapping[str, Any] | None = None,
    by: User | None = None,
) -> Exclusion:
    """Exclude a worker from a study: invalidate their answers and reopen their slots.

    A repeated call returns the first exclusion.

    Args:
        rule: the name of the detector that excludes the worker; "" for a person.
        evidence: the detector's evidence (``evidence_of``).

    Raises:
        WrongState: the judgments of the study were imported.
    """
    if study.source != Study.Source.DESIGNED:
        raise WrongState(
            pgettext(
                "staff",
                "Nothing was changed: participants of the imported study %(slug)r cannot be excluded.",
            )
            % {"slug": study.slug}
        )
    try:
        with transaction.atomic():
            exclusion = Exclusion.objects.create(
                study=study,
                worker=worker,
                rule=rule,
                why=why[:MAX_WHY_LENGTH],
                evidence=dict(evidence or {}),
                made_by=by,
            )
            _invalidate_work(exclusion)
            note_event(
                study=study,
                what="excluded",
                sentence=f"{worker.name} was excluded{f' by the detector {rule}' if rule else ''}.",
                why=why,
                by=by,
                worker=worker.name,
                rule=rule,
            )
            worker_excluded.send(Exclusion, exclusion=exclusion)
    except IntegrityError:  # the database allows only one exclusion at a time
        exclusion = Exclusion.objects.get(study=study, worker=worker, lifted_at=None)
    return exclusion


def _invalidate_work(exclusion: Exclusion) -> None:
    """Invalidate the worker's assignments.

    To avoid deadlocks, assignments are locked first, then HITs, then the participation.
    """
    live_assignments = Assignment.objects.filter(
        study_id=exclusion.study_id, worker_id=exclusion.worker_id, state__in=LIVE_STATES
    )
    rows = list(live_assignments.select_for_update().order_by("pk").values_list("pk", "hit_id", "state"))
    for old_state in {state for _pk, _hit, state in rows}:  # one statement for all rows with the same state
        Assignment.objects.filter(pk__in=[pk for pk, _hit, state in rows if state == old_state]).update(
            state=Assignment.State.INVALIDATED, before_exclusion=old_state, exclusion=exclusion
        )
    reopen_slots(study=exclusion.study, freed=Counter(hit for _pk, hit, _state in rows if hit is not None))
    recount_system_pairs(exclusion.study)
    Participation.objects.filter(study_id=exclusion.study_id, worker_id=exclusion.worker_id).update(
        standing=Standing.EXCLUDED
    )


@transaction.atomic
def lift_exclusion(*, exclusion: Exclusion, why: str, by: User | None = None) -> Exclusion:
    """Lift an exclusion. A repeated call changes nothing.

    Finished work gets its previous state again, in an open or saved slot of its HIT or else in an additional slot.
    """
    locked_exclusion = Exclusion.objects.select_for_update().get(pk=exclusion.pk)
    if locked_exclusion.lifted_at is not None:
        return locked_exclusion
    locked_exclusion.lifted_by, locked_exclusion.lifted_at = by, timezone.now()
    locked_exclusion.lifted_why = why[:MAX_WHY_LENGTH]
    locked_exclusion.save(update_fields=["lifted_by", "lifted_at", "lifted_why"])
    study, worker = locked_exclusion.study, locked_exclusion.worker
    _restore_work(locked_exclusion)
    recount_system_pairs(study)
    Participation.objects.filter(study=study, worker=worker, standing=Standing.EXCLUDED).update(
        standing=Standing.ACTIVE
    )
    note_event(
        study=study,
        what="re-admitted",
        sentence=f"The exclusion of {worker.name} was lifted.",
        why=why,
        by=by,
        worker=worker.name,
    )
    return locked_exclusion


def _restore_work(exclusion: Exclusion) -> None:
    """Restore the assignments that an exclusion invalidated. The order of the locks is that of ``_invalidate_work``."""
    invalidated = Assignment.objects.filter(exclusion=exclusion, state=Assignment.State.INVALIDATED)
    assignments = list(invalidated.select_for_update().order_by("pk"))
    hit_ids = {assignment.hit_id for assignment in assignments if assignment.hit_id is not None}
    lock_for_settling(study=exclusion.study, hits=hit_ids)
    hits = {hit.pk: hit for hit in HIT.objects.filter(pk__in=hit_ids).select_for_update().order_by("pk")}
    for assignment in assignments:
        _restore_assignment(assignment, hits.get(assignment.hit_id or 0))
    update_outcomes(study=exclusion.study, hits=hits)


def _restore_assignment(assignment: Assignment, hit: HIT | None) -> None:
    """Restore an invalidated assignment: finished work gets its state and a slot, other work counts as returned."""
    if assignment.before_exclusion in FINISHED_STATES:
        assignment.state = Assignment.State(assignment.before_exclusion)
        if hit is not None:
            assignment.slot = _take_slot(hit)
    else:
        assignment.state = Assignment.State.RETURNED
    assignment.before_exclusion = ""
    assignment.save(update_fields=["state", "slot", "before_exclusion"])


def _take_slot(hit: HIT) -> int:
    """Take an open or saved slot of a locked HIT, or add a slot; return the number of the slot.

    It keeps the equation live + open + saved = required.
    """
    if hit.open_slots:
        hit.open_slots -= 1
    elif hit.spared:
        hit.spared -= 1
    else:
        hit.required += 1
    hit.save(update_fields=["open_slots", "spared", "required"])
    return free_slot(hit.pk)


@transaction.atomic
def pause_worker(*, study: Study, worker: Worker) -> None:
    """Give the worker no more work until a person decides.

    The worker's answers are still used. Claimed HITs without an answer are returned; a HIT with answers may be
    finished.
    """
    leases = Assignment.objects.filter(study=study, worker=worker, state__in=LEASED_STATES)
    rows = list(leases.select_for_update().order_by("pk").values_list("pk", "hit_id", "answers"))
    hits_by_assignment = {pk: hit for pk, hit, answers in rows if not answers}
    Assignment.objects.filter(pk__in=hits_by_assignment).update(state=Assignment.State.RETURNED)
    reopen_slots(study=study, freed=Counter(hit for hit in hits_by_assignment.values() if hit is not None))
    # update the participation last, since a claim locks the HIT before it
    Participation.objects.filter(study=study, worker=worker, standing=Standing.ACTIVE).update(
        standing=Standing.PAUSED
    )


def unpause_worker(*, study: Study, worker: Worker) -> None:
    """Give a paused worker work again. A worker who is not paused stays as they are."""
    Participation.objects.filter(study=study, worker=worker, standing=Standing.PAUSED).update(
        standing=Standing.ACTIVE
    )


def run_detectors(*, assignment: Assignment) -> list[Case]:
    """Run the study's detectors on the worker who submitted ``assignment``; return the new flags.

    A detector that has already flagged the worker does not run again. If no detector is enabled, this is one query.
    """
    study = assignment.study
    rows = list(QualityRule.objects.filter(study=study, enabled=True))
    if not rows:
        return []
    pages = pages_since_look(count_submitted_pages(study, assignment.worker_id))
    if not pages:
        return []
    flagged_rules = set(
        Case.objects.filter(study=study, worker=assignment.worker_id).values_list("rule", flat=True)
    )
    rules = _applicable_rules(study, [row for row in rows if row.rule not in flagged_rules])
    findings = _examine_worker(assignment, rules, pages)
    if not findings or assignment.worker.anonymous:
        return []
    with transaction.atomic():
        row_by_rule = {row.rule: row for row in rows}
        cases = [_store_flag(assignment, row_by_rule[rule.name], rule, finding) for rule, finding in findings]
        return [case for case in cases if case is not None]


def _examine_worker(assignment: Assignment, rules: Sequence[Rule], pages: int) -> list[tuple[Rule, Finding]]:
    """Let detectors examine the worker of ``assignment``; return those that have a finding, with the finding.

    Args:
        pages: how many of the worker's latest pages are new to the detectors.
    """
    study, worker = assignment.study, assignment.worker_id
    total = count_worker_judgments(study, worker)
    findings: list[tuple[Rule, Finding]] = []
    if general_rules := [rule for rule in rules if not rule.controls_only and rule.least <= total]:
        needs_others = any(rule.needs_others for rule in general_rules)
        needs_texts = any(rule.needs_texts for rule in general_rules)
        history = history_of(
            study, worker, total=total, pages=pages, with_others=needs_others, with_texts=needs_texts
        )
        findings += collect_findings(general_rules, history, judgments=total)
    if control_rules := [rule for rule in rules if rule.controls_only and rule.least <= total]:
        history = control_history_of(study, assignment.worker, pages=pages)
        due_rules = [
            rule for rule in control_rules if rule.is_due(total=history.total, new_count=history.new_count)
        ]
        findings += collect_findings(due_rules, history, judgments=total)
    return findings


def _applicable_rules(study: Study, rows: Sequence[QualityRule]) -> list[Rule]:
    """Return the detectors that apply to the study's answers. Rows with settings of another version are left out."""
    answers = answer_format_of(study)
    rules = []
    for row in rows:
        try:
            rule = make_study_rule(study, row.rule, row.settings)
        except WrongState:
            continue
        if rule.applies_to(answers):
            rules.append(rule)
    return rules


def _store_flag(assignment: Assignment, row: QualityRule, rule: Rule, finding: Finding) -> Case | None:
    """Store a flag and carry out the detector's action.

    Return None if another process stored the same flag just before. A detector that may only flag does so, whatever
    action its row names, since only earlier versions stored other actions.
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
    """Return the evidence as it is stored, with the settings from which ``describe_evidence`` makes the detector."""
    return {"words": finding.sentence, "numbers": finding.evidence, "settings": rule.model_dump(mode="json")}


def has_stopping_flag(cases: Sequence[Case]) -> bool:
    """Return whether one of these new flags paused or excluded the worker."""
    return any(case.action in STOPPING_ACTIONS for case in cases)


@transaction.atomic
def confirm_flag(*, case: Case, why: str, by: User | None) -> Case:
    """Confirm an open flag. Exclude the worker, unless the detector has done so."""
    open_case = _lock_open_case(case)
    study, worker = open_case.study, open_case.worker
    exclusion = active_exclusion(study, worker) or exclude_worker(
        study=study, worker=worker, rule=open_case.rule, why=why, evidence=open_case.evidence, by=by
    )
    return _store_decision(open_case, Case.State.CONFIRMED, why, by, exclusion)


@transaction.atomic
def dismiss_flag(*, case: Case, why: str, by: User | None) -> Case:
    """Dismiss an open flag: lift its exclusion, and resume the worker unless another flag is open."""
    open_case = _lock_open_case(case)
    study, worker = open_case.study, open_case.worker
    dismissed_case = _store_decision(open_case, Case.State.DISMISSED, why, by, open_case.exclusion)
    if open_case.exclusion is not None:
        lift_exclusion(exclusion=open_case.exclusion, why=why, by=by)
    other_cases = Case.objects.filter(
        study=study, worker=worker, state=Case.State.OPEN, action__in=STOPPING_ACTIONS
    )
    # another flag stops the worker, too, but lifting the exclusion made them active
    set_standing = pause_worker if other_cases.exists() else unpause_worker
    set_standing(study=study, worker=worker)
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
    """Lock a flag, and return its current row. Raise WrongState if it was decided before."""
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
    """Store the decision on a flag, and note it in the study's log."""
    case.state, case.decision, case.exclusion = state, why.strip()[:MAX_WHY_LENGTH], exclusion
    case.decided_by, case.decided_at = by, timezone.now()
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
