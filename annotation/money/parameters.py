"""The parameters of operations that move money, for pages, API and commands."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from rest_framework import serializers
from rest_framework.utils.html import is_html_input

from common.parameters import Parameters

MAX_CENTS = 10**9  # the largest amount of an order, in cents
MAX_LIMIT = 10**14  # the largest limit, in cents
MAX_WHY_LENGTH = 1000


class CentsField(serializers.IntegerField):
    """An amount in whole cents. The HTML forms of pages send an amount such as 12.30 instead, in a field ``amount``."""

    default_error_messages = {"amount": "Expected an amount such as 12.30."}

    def __init__(self, **kwargs: Any) -> None:
        style = {"name": "amount", "kind": "text", "inputmode": "decimal"}
        super().__init__(max_value=MAX_CENTS, style=style, **kwargs)

    def get_value(self, dictionary: Any) -> Any:
        text = dictionary.get("amount") if is_html_input(dictionary) else None
        if text is None:
            return super().get_value(dictionary)
        try:
            return Decimal(text) * 100
        except ArithmeticError:  # not a number, or too large
            return Decimal("NaN")  # ``to_internal_value`` refuses it with the right message

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, Decimal):
            if not data.is_finite() or not 0 <= data <= MAX_CENTS or data != data.to_integral_value():
                self.fail("amount")
            data = int(data)
        return super().to_internal_value(data)


class ConfirmRequest(Parameters):
    """The digest that confirms a preview, and the reason for the log."""

    # annotation/money/views/api.py adds the field of the digest, ``confirm``, which only the API has

    why = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_WHY_LENGTH,
        label="Reason",
        help_text="The reason is shown in the log.",
    )


class PaymentReason(Parameters):
    """The reason of a payment, which the workers read."""

    why = serializers.CharField(
        max_length=MAX_WHY_LENGTH,
        label="Message to the participant",
        help_text="Message to the participants.",
    )


class TopUpRequest(PaymentReason):
    """The reason of top-ups, and the worker to whom they are paid (default: all workers)."""

    worker = serializers.CharField(default="", allow_blank=True, label="Participant", help_text="Empty: all.")


class BonusRequest(PaymentReason):
    """The worker who gets a bonus, its amount, and the reason."""

    worker = serializers.CharField(
        label="Participant",
        help_text="A participant with approved work.",
        style={"list": "crowd-workers"},  # the id of a <datalist> with names
    )
    cents = CentsField(min_value=1, label="Amount", help_text="The amount without the crowd's fee.")


class BudgetRequest(ConfirmRequest):
    """The study's total budget."""

    cents = CentsField(
        min_value=0, label="Total budget", help_text="The total budget, including fees and bonuses."
    )


def _limit_field(help_text: str) -> serializers.IntegerField:
    return serializers.IntegerField(required=False, min_value=0, max_value=MAX_LIMIT, help_text=help_text)


class LimitsRequest(Parameters):
    """The limits of an account, or of the whole installation. A limit that is left out is removed."""

    account = serializers.CharField(
        default="", allow_blank=True, help_text="Staff account; empty: the whole installation."
    )
    currency = serializers.RegexField(r"^[A-Z]{3}$", help_text="Three letters, such as USD.")
    day_cents = _limit_field("Limit of what is reserved or spent in a day, in cents.")
    total_cents = _limit_field("Limit of what is reserved or spent in total, in cents.")
    account_day_cents = _limit_field("Daily limit of each account without its own limits, in cents.")
    account_total_cents = _limit_field("Total limit of each account without its own limits, in cents.")
    confirm_cents = _limit_field("Amount in cents; a second person must confirm an order above it.")
