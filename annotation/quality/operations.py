"""Operations of reviewers: decide on work and on flags, exclude, set detectors, withdraw control items.

They add parameters and a sentence about the result to the functions of ``flags``, ``reviews`` and ``rules``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.utils.html import is_html_input

from annotation.crowds import backend_of
from annotation.crowds.sync.schedule import SYNC_LATER
from annotation.models import Assignment, Case, Exclusion, QualityRule
from annotation.money.orders import with_confirmation
from annotation.quality import flags, reviews
from annotation.quality import rules as rule_services
from annotation.quality.detectors import RULES
from annotation.quality.exclusions import exclude_worker
from annotation.work.joining import find_worker
from annotation.work.stopping import update_study_outcomes
from common.amounts import thousands
from common.errors import ObjectNotFound
from common.parameters import KeysField, Parameters, Reason
from judgments.access.rights import Right
from judgments.models import Study
from judgments.operations import Outcome, find_row, operation
from judgments.studies.generation.hand_changes import withdraw_control

SETTINGS_HELP = "Settings that differ from the defaults."
MAX_SETTING = 10**12  # far above any useful share, count or number of seconds
MAX_ASSIGNMENTS = 1000  # assignments that one call can decide on
EXCLUDED_MESSAGE = gettext_noop(
    "{worker} is excluded. Their answers are kept but not used, and their places are open again."
)
NO_WORK_CHOSEN = gettext_lazy("Choose the pages of work first.")


class SettingsField(serializers.DictField):
    """The settings of a detector: numbers by name.

    A form has a field ``settings.<name>`` for each setting. Empty fields are left out.
    """

    child = serializers.FloatField(min_value=-MAX_SETTING, max_value=MAX_SETTING)

    def get_value(self, dictionary: Any) -> Any:
        texts = super().get_value(dictionary)
        if texts is empty or not is_html_input(dictionary):
            return texts
        return {name: text for name, text in texts.items() if text.strip()}

    def to_internal_value(self, data: Any) -> dict[str, float]:
        values: dict[str, float] = super().to_internal_value(data)
        # detectors require counts to be integers
        return {name: int(value) if value.is_integer() else value for name, value in values.items()}


class RuleRequest(Parameters):
    """The new settings of a detector."""

    settings = SettingsField(required=False, help_text=SETTINGS_HELP)
    action = serializers.ChoiceField(choices=QualityRule.Action.choices)
    enabled = serializers.BooleanField(required=False, help_text="Default: true.")


@operation("set-rule", "Switch a detector on or off, or change it", parameters=RuleRequest, row="rule")
def set_rule(
    *,
    study: Study,
    by: User | None,
    rule: str,
    action: str,
    enabled: bool = True,
    settings: Mapping[str, float] | None = None,
) -> Outcome:
    """Change a detector. Its earlier flags and actions stay. Repeating changes only the account that is stored with it.

    Of ``settings``, only values that differ from the defaults are stored.
    """
    defaults = rule_services.make_study_rule(study, rule, {}).model_dump()
    rule_settings = rule_services.make_study_rule(study, rule, settings or {}).model_dump()
    changes = {name: rule_settings[name] for name in settings or {} if rule_settings[name] != defaults[name]}
    row = rule_services.store_rule(
        study=study, rule=rule, settings=changes, action=action, enabled=enabled, by=by
    )
    if enabled:
        sentence = _("The detector “%(rule)s” is saved and turned on.")
    else:
        sentence = _("The detector “%(rule)s” is saved and turned off.")
    title = RULES[rule].title
    return Outcome(sentence % {"rule": _(title)}, row)


@operation(
    "confirm-case", "Confirm a flag", parameters=Reason, right=Right.REVIEW, scope="workers", row="case"
)
def confirm_case(*, study: Study, by: User | None, case: str, why: str) -> Outcome:
    """Confirm a flag. Exclude the worker, unless the detector has done so."""
    flag = flags.confirm_flag(case=find_row(Case.objects.filter(study=study), case), why=why, by=by)
    return Outcome(_(EXCLUDED_MESSAGE).format(worker=flag.worker), flag)


@operation(
    "dismiss-case", "Dismiss a flag", parameters=Reason, right=Right.REVIEW, scope="workers", row="case"
)
def dismiss_case(*, study: Study, by: User | None, case: str, why: str) -> Outcome:
    """Dismiss a flag and undo the detector's action. The detector does not flag this worker again."""
    flag = flags.dismiss_flag(case=find_row(Case.objects.filter(study=study), case), why=why, by=by)
    sentence = _("The flag on %(worker)s is dismissed; the detector will not flag this participant again.")
    return Outcome(sentence % {"worker": flag.worker}, flag)


class ExclusionRequest(Reason):
    """The worker to exclude or readmit, and the reason."""

    worker = serializers.CharField()


@operation(
    "exclude", "Exclude a participant", parameters=ExclusionRequest, right=Right.REVIEW, scope="workers"
)
def exclude(*, study: Study, by: User | None, worker: str, why: str) -> Outcome:
    """Exclude a worker. Their answers are kept, but not used. A repeated call returns the first exclusion."""
    person = find_worker(study, worker)
    exclusion = exclude_worker(study=study, worker=person, why=why, by=by)
    return Outcome(_(EXCLUDED_MESSAGE).format(worker=person), exclusion)


@operation("readmit", "Lift an exclusion", parameters=ExclusionRequest, right=Right.REVIEW, scope="workers")
def readmit(*, study: Study, by: User | None, worker: str, why: str) -> Outcome:
    """Readmit a worker. Their answers are used again. Flags that are open because of the exclusion are dismissed."""
    person = find_worker(study, worker)
    exclusion = Exclusion.objects.filter(study=study, worker=person).order_by("-pk").first()
    if exclusion is None:
        raise ObjectNotFound(
            _("%(name)s was never excluded from study %(slug)r.") % {"name": person.name, "slug": study.slug}
        )
    lifted_exclusion = flags.readmit_worker(exclusion=exclusion, why=why, by=by)
    return Outcome(_("The answers of %(found)s are used again.") % {"found": person}, lifted_exclusion)


class ApprovalRequest(Parameters):
    """The assignments to approve."""

    assignments = serializers.ListField(
        child=serializers.UUIDField(),
        min_length=1,
        max_length=MAX_ASSIGNMENTS,
        error_messages={"required": NO_WORK_CHOSEN, "min_length": NO_WORK_CHOSEN},
    )


@operation(
    "approve",
    "Approve work",
    parameters=ApprovalRequest,
    right=Right.REVIEW,
    scope="workers",
    follow_up=SYNC_LATER,
    is_order=True,
)
@with_confirmation("approve", right=Right.REVIEW)
def approve(*, study: Study, by: User | None, assignments: Collection[UUID | str]) -> Outcome:
    """Approve all of the assignments or none. Repeating changes nothing.

    Approving rejected work reserves its pay again.
    """
    ids = [UUID(str(pk)) for pk in assignments]
    changed_count = reviews.approve_assignments(study=study, assignments=ids, by=by)
    return Outcome(_decision_message(study, changed_count, "approved"), {"changed": changed_count})


class RejectionRequest(ApprovalRequest):
    """The assignments to reject, and the reason that their workers read.

    If ``found`` is true and there is no reason, the objections to each worker's work are the reason.
    """

    reason = serializers.CharField(
        required=False, allow_blank=True, help_text="Required unless `found` is true."
    )
    found = serializers.BooleanField(
        required=False,
        help_text="If no reason is given, reject each assignment with the objections to it as the reason.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs.get("reason") and not attrs.get("found"):
            raise serializers.ValidationError(
                {"reason": "A rejection needs a reason that the participant can read."}
            )
        return super().validate(attrs)


@operation(
    "reject",
    "Reject work",
    parameters=RejectionRequest,
    right=Right.REVIEW,
    scope="workers",
    follow_up=SYNC_LATER,
)
def reject(
    *, study: Study, by: User | None, assignments: Collection[UUID], reason: str = "", found: bool = False
) -> Outcome:
    """Reject all of the assignments or none, with a reason that the workers read. Repeating changes nothing.

    If ``found`` is true and there is no ``reason``, the objections to each worker's work are the reason.
    """
    if not reason and not found:  # requests are checked before, so this is a mistake of the calling code
        raise ValueError("A rejection needs a reason, or found=True.")
    if reason:
        changed_count = reviews.reject_assignments(study=study, assignments=assignments, reason=reason, by=by)
    else:
        changed_count = reviews.reject_with_findings(study=study, assignments=assignments, by=by)
    return Outcome(_decision_message(study, changed_count, "rejected"), {"changed": changed_count})


@operation(
    "approve-unopposed",
    "Approve all work without objections",
    right=Right.REVIEW,
    scope="workers",
    follow_up=SYNC_LATER,
)
def approve_unopposed(*, study: Study, by: User | None) -> Outcome:
    """Approve all work to which there is no objection. The other work waits for a person."""
    changed_count = reviews.approve_without_objection(study=study, by=by)
    return Outcome(_decision_message(study, changed_count, "approved"), {"changed": changed_count})


def _decision_message(study: Study, count: int, decision: str) -> str:
    """Return the message after a decision on work. At a crowd, the decision takes effect when the crowd has replied.

    Args:
        decision: "approved" or "rejected".
    """
    is_approved = decision == "approved"
    n = {"n": thousands(count)}
    if study.platform and backend_of(study).sends_people:
        if is_approved:
            sentence = ngettext(
                "One page of work will be approved", "%(n)s pages of work will be approved", count
            )
        else:
            sentence = ngettext(
                "One page of work will be rejected", "%(n)s pages of work will be rejected", count
            )
        request = _("the request was sent to the crowd; the reply of the crowd will appear here.")
        return f"{sentence % n}; {request}"
    if is_approved:
        sentence = ngettext("One page of work is approved.", "%(n)s pages of work are approved.", count)
    else:
        sentence = ngettext("One page of work is rejected.", "%(n)s pages of work are rejected.", count)
    return sentence % n


class AppealAnswer(Parameters):
    """The answer to a worker's appeal. It is about the first of ``assignments``."""

    note = serializers.CharField(max_length=reviews.MAX_NOTE_LENGTH)
    assignments = serializers.ListField(  # the page has one set of checkboxes for notes and for decisions
        child=serializers.UUIDField(),
        min_length=1,
        error_messages={"required": NO_WORK_CHOSEN, "min_length": NO_WORK_CHOSEN},
        help_text="Ids of assignments; the note is shown with the first one.",
    )


@operation("appeal-note", "Answer an appeal", parameters=AppealAnswer, right=Right.REVIEW, scope="workers")
def answer_appeal(*, study: Study, by: User, assignments: Collection[UUID], note: str) -> Outcome:
    """Answer a worker's appeal. The worker reads the answer."""
    rows = Assignment.objects.filter(study=study).select_related("study", "worker")
    assignment = find_row(rows, str(next(iter(assignments))))
    reviews.store_appeal_note(assignment=assignment, text=note, by=by)
    return Outcome(_("The note is shown with the work of %(worker)s.") % {"worker": assignment.worker})


class WithdrawalRequest(Parameters):
    """The keys of the control items to withdraw, because they mislead careful workers."""

    units = KeysField(
        min_length=1,  # the page's forms name only items that are not withdrawn yet
        error_messages={"required": "Nothing was withdrawn: the items named were withdrawn before."},
    )


@operation("strike", "Withdraw check questions", parameters=WithdrawalRequest)
def withdraw_control_items(*, study: Study, by: User | None, units: Collection[str]) -> Outcome:
    """Withdraw all of the check questions or none. Participants' answers to them are kept, but not used."""
    with transaction.atomic():
        for key in units:
            withdraw_control(study=study, unit_key=key)
        update_study_outcomes(study=study)  # the withdrawal may change whose judgments are used
    n = len(units)
    if study.opened_at is not None:
        sentence = ngettext(
            "One check question was withdrawn; its answers are kept but not used.",
            "%(n)s check questions were withdrawn; their answers are kept but not used.",
            n,
        )
    else:
        sentence = ngettext(
            "One check question was withdrawn; no participant will see it.",
            "%(n)s check questions were withdrawn; no participant will see them.",
            n,
        )
    return Outcome(sentence % {"n": n})
