"""The operations that send units to an adjudicator and withdraw them, and the fields of an adjudicator's answer."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from annotation.models import Adjudication
from common.errors import ObjectNotFound, WrongState
from common.parameters import MAX_REASON_LENGTH, Parameters, PlainNumberField
from contrib.adjudication import decisions
from judgments.access.rights import Right
from judgments.models import Study, Unit
from judgments.operations import Outcome, find_row, operation

MAX_UNITS_SENT = 1000  # units that one call can send to an adjudicator


class SendRequest(Parameters):
    """The units to adjudicate, and the account that decides on them."""

    units = serializers.ListField(
        child=serializers.CharField(),
        min_length=1,
        max_length=MAX_UNITS_SENT,
        help_text="Keys of the units.",
        error_messages=dict.fromkeys(
            ("required", "min_length"),
            "Choose one or more items of this study; check questions have a right answer.",
        ),
    )
    adjudicator = serializers.CharField(
        help_text="The name of an account that may review the study.",
        error_messages=dict.fromkeys(("required", "blank"), "Choose who is to decide."),
    )


@operation(
    "adjudicate", "Send units to an adjudicator", parameters=SendRequest, right=Right.REVIEW, scope="workers"
)
def send_units(*, study: Study, by: User | None, units: Collection[str], adjudicator: str) -> Outcome:
    """Send units to an adjudicator, all or none. Units that were sent before are skipped."""
    unit_ids = dict(Unit.objects.filter(study=study, key__in=units).values_list("key", "pk"))
    unknown_keys = [key for key in units if key not in unit_ids]
    if unknown_keys:
        raise ObjectNotFound(
            _("Nothing was sent: study %(slug)r has no item %(lacking)r.")
            % {"slug": study.slug, "lacking": unknown_keys[0][:80]}
        )
    account = decisions.adjudicators(study).filter(username=adjudicator).first()
    if account is None:
        raise WrongState(
            _("Nothing was sent: %(adjudicator)r is not allowed to adjudicate in this study.")
            % {"adjudicator": adjudicator[:80]}
        )
    ids = list(unit_ids.values())
    new_rows = decisions.send_to_adjudicator(study=study, units=ids, adjudicator=account, by=by)
    sent_before_count = len(ids) - len(new_rows)
    sentence = ngettext("%(n)s item sent to %(name)s.", "%(n)s items sent to %(name)s.", len(new_rows))
    sentence %= {"n": len(new_rows), "name": account.get_username()}
    sent_before_sentence = _("Items that were already sent: %(n)s.") % {"n": sent_before_count}
    return Outcome(f"{sentence} {sent_before_sentence}" if sent_before_count else sentence, new_rows)


@operation("withdraw", "Withdraw", right=Right.REVIEW, scope="workers", row="adjudication")
def withdraw_adjudication(*, study: Study, by: User | None, adjudication: str) -> Outcome:
    """Withdraw a unit from adjudication, decided or not, so that its votes count again. Repeating changes nothing."""
    row = find_row(Adjudication.objects.filter(study=study).select_related("study", "unit"), adjudication)
    sentence = _(
        "The adjudication was withdrawn. When the consensus is computed again, the participants' answers decide this "
        "item."
    )
    return Outcome(sentence, decisions.withdraw_adjudication(adjudication=row, by=by))


class DecideRequest(Parameters):
    """An adjudicator's final answer, and the reason for it."""

    value = PlainNumberField(
        help_text="The answer, for the options in the order in which the adjudicator sees them."
    )
    reason = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_REASON_LENGTH,
        help_text="Reason for the answer, which the log shows.",
    )
