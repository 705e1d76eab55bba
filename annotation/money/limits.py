"""Limits on spending beyond a study's budget: for an account, for the installation, and for a single order.

Money is committed if it is reserved or spent. An order is the sum that an account commits at once for a study; a large
order needs the confirmation of a second person. Committed money counts for the account that orders, not for the
study's owner, so that a limit bounds what a stolen password or a wrong script can spend in all studies. A daily limit
counts the orders since midnight. Money of unfilled places that is released today still counts today, so that nobody
can order more by closing studies. The check locks the installation's row of limits, so that two simultaneous orders
cannot both pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Budget, Commitment, LedgerEntry, SpendingLimit
from common.amounts import spell_cents
from common.audit import acting_person
from common.errors import QuorumError, WrongState
from judgments.models import Study

P = ParamSpec("P")
R = TypeVar("R")

# the order to which reservations in the current ``one_order`` block belong
_order: ContextVar[Order | None] = ContextVar("order", default=None)
# the sum of an order that a second person has confirmed
_confirmed_cents: ContextVar[int | None] = ContextVar("confirmed_cents", default=None)

# Kinds of ledger entries (``LedgerEntry.what``) about payments that only an uploaded panel's list claims: a payment
# without a session, and its cancellation once the session exists. An invented list must not use up the installation's
# limits. So these entries count only for their study and for the account that uploaded the list.
CLAIM_ENTRIES = ("unmatched", "matched")


class OverLimit(QuorumError):
    """Raised if an order exceeds a limit of the account or of the installation; nothing was done."""

    status = 409
    title = "Beyond a limit"


class NeedsConfirmation(QuorumError):
    """Raised if an order is so large that a second person must confirm it; nothing was done."""

    status = 409
    title = "A second person must confirm"

    def __init__(self, message: str, *, cents: int, currency: str) -> None:
        super().__init__(message)
        self.cents, self.currency = cents, currency


@dataclass(slots=True)
class Order:
    """The sum that an account commits at once for a study. The account is None if the platform orders."""

    study_id: int
    account_id: int | None
    cents: int = 0
    currency: str = ""

    def add(self, currency: str, cents: int) -> None:
        self.currency = currency
        self.cents += cents


@contextmanager
def one_order(study: Study, account_id: int | None) -> Iterator[Order]:
    """Treat all reservations in the block as one order, in one transaction.

    An inner block for the same study joins the outer order.

    Args:
        account_id: row id of the ordering account; None for the account that acts now, if any.

    Raises:
        OverLimit, NeedsConfirmation: see the classes; everything in the block is rolled back.
    """
    outer_order = _order.get()
    if outer_order is not None and outer_order.study_id == study.pk:
        cents_before, is_done = outer_order.cents, False
        try:
            yield outer_order
            is_done = True
        finally:
            if not is_done:  # the inner block was rolled back, so its sum does not count
                outer_order.cents = cents_before
        return
    if account_id is None:
        person = acting_person()
        account_id = person.pk if person is not None else None
    order = Order(study.pk, account_id)
    token = _order.set(order)
    try:
        with transaction.atomic():
            yield order
            if order.cents:
                _check_order(order)
    finally:
        _order.reset(token)


def commit_as_one_order(service: Callable[P, R]) -> Callable[P, R]:
    """Decorate a service so that each call of it is one order. The service takes ``study`` and may take ``by``."""

    @wraps(service)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        study, by = kwargs["study"], kwargs.get("by")
        assert isinstance(study, Study)
        with one_order(study, by.pk if isinstance(by, User) else None):
            return service(*args, **kwargs)

    return run


@contextmanager
def confirmed_by_second_person(cents: int) -> Iterator[None]:
    """Let an order in the block pass without asking for a second person, who has confirmed the sum ``cents``.

    Raises:
        WrongState: the order has another sum.
    """
    token = _confirmed_cents.set(cents)
    try:
        yield
    finally:
        _confirmed_cents.reset(token)


@dataclass(frozen=True, slots=True)
class SpendingBound:
    """A limit and the sum that counts towards it.

    Attributes:
        owner_label: words for the account or installation that has the limit, such as "this installation".
        period_label: words for the period of the limit: "a day" or "all time".
        limit_cents: the limit; None if there is none.
    """

    owner_label: str
    period_label: str
    limit_cents: int | None
    committed_cents: int


def spending_bounds(currency: str, account: User | None) -> list[SpendingBound]:
    """Return the limits of the installation and of an account, with their current commitments."""
    account_id = account.pk if account else None
    limit_rows = SpendingLimit.objects.filter(Q(account=None) | Q(account=account_id), currency=currency)
    rows = {row.account_id: row for row in limit_rows}
    limits = rows.get(None) or SpendingLimit()  # the installation's limits; an empty row has none
    bounds = [
        SpendingBound("this installation", "a day", limits.day_cents, cents_committed_today(currency)),
        SpendingBound("this installation", "all time", limits.total_cents, committed_cents(currency)),
    ]
    if account is not None:  # without a row of its own, it has the installation's limits for each account
        account_limits, label = rows.get(account.pk), f"the account {account.get_username()}"
        day_cents = account_limits.day_cents if account_limits else limits.account_day_cents
        total_cents = account_limits.total_cents if account_limits else limits.account_total_cents
        bounds += [
            SpendingBound(label, "a day", day_cents, cents_committed_today(currency, account.pk)),
            SpendingBound(label, "all time", total_cents, committed_cents(currency, account.pk)),
        ]
    return bounds


def _check_order(order: Order) -> None:
    """Check an order against all limits. It is already booked in this transaction.

    Raises:
        OverLimit: the order exceeds a limit, or limits exist, but none in its currency.
        NeedsConfirmation: a second person must confirm the order.
        WrongState: the order does not cost the sum that a second person has confirmed.
    """
    if not SpendingLimit.objects.exists():
        return
    # the next order waits for this lock, and then its sums include this order
    limits = SpendingLimit.objects.select_for_update().filter(account=None, currency=order.currency).first()
    amount = spell_cents(order.cents, order.currency)
    if limits is None:
        raise OverLimit(
            f"Nothing was done: this asks for {amount}, and this installation has limits, but none in "
            f"{order.currency}; who manages its limits can set one."
        )
    account = User.objects.filter(pk=order.account_id).first() if order.account_id else None
    for bound in spending_bounds(order.currency, account):
        if bound.limit_cents is not None and bound.committed_cents > bound.limit_cents:
            committed_amount = spell_cents(max(0, bound.committed_cents - order.cents), order.currency)
            raise OverLimit(
                f"Nothing was done: the limit of {bound.owner_label} for {bound.period_label} is "
                f"{spell_cents(bound.limit_cents, order.currency)}; {committed_amount} is committed, and "
                f"this asks for {amount}."
            )
    _check_second_person(order, limits.confirm_cents)


def _check_second_person(order: Order, confirm_cents: int | None) -> None:
    """Raise NeedsConfirmation if no second person has confirmed an order above ``confirm_cents``.

    Raise WrongState if a second person has confirmed another sum.
    """
    confirmed_cents = _confirmed_cents.get()
    amount = spell_cents(order.cents, order.currency)
    if confirmed_cents is not None and confirmed_cents != order.cents:
        raise WrongState(
            _("Nothing was done: the request was for %(agreed)s, but it would now cost %(asked)s.")
            % {"agreed": spell_cents(confirmed_cents, order.currency), "asked": amount}
        )
    if confirmed_cents is None and confirm_cents is not None and order.cents > confirm_cents:
        raise NeedsConfirmation(
            f"Nothing was done yet: this asks for {amount}, and a second person must confirm what is above "
            f"{spell_cents(confirm_cents, order.currency)}.",
            cents=order.cents,
            currency=order.currency,
        )


def committed_cents(currency: str, account_id: int | None = None) -> int:
    """Return the reserved and spent cents of an account, or of the whole installation if ``account_id`` is None.

    The installation's sum leaves out payments that were booked only because a panel's list claims them.
    """
    if account_id is None:
        sums = Budget.objects.filter(currency=currency).aggregate(
            cents=Sum(F("reserved_cents") + F("spent_cents"))
        )
        claims = LedgerEntry.objects.filter(budget__currency=currency, what__in=CLAIM_ENTRIES)
        claimed_cents = claims.aggregate(cents=Sum("spent_cents"))["cents"] or 0
        return (sums["cents"] or 0) - claimed_cents
    commitments = Commitment.objects.filter(budget__currency=currency, account=account_id)
    return commitments.aggregate(cents=Sum("cents"))["cents"] or 0


def cents_committed_today(currency: str, account_id: int | None = None) -> int:
    """Return the cents committed since midnight by an account, or by the installation if ``account_id`` is None.

    A request to the crowd (``CrowdCall``) of today that failed or was cancelled is subtracted again.
    """
    entries = entries_of_today().filter(budget__currency=currency)
    entries = entries.exclude(what__in=CLAIM_ENTRIES) if account_id is None else entries.filter(by=account_id)
    # the sum is negative if more claims of earlier days are cancelled today than is ordered
    return max(0, entries.aggregate(cents=Sum("committed_cents"))["cents"] or 0)


def entries_of_today() -> QuerySet[Any]:
    """Return today's ledger entries that count towards daily limits, with the annotation ``committed_cents``.

    An entry that releases money counts only if its request to the crowd (``call``) was written today, or if it cancels
    a claimed payment (``CLAIM_ENTRIES``). The release of unfilled places has no ``call``, so it does not count.
    """
    # the server's day, independent of the user's time zone
    midnight = datetime.combine(timezone.now().astimezone(UTC), time.min, UTC)
    entries: QuerySet[Any] = LedgerEntry.objects.filter(at__gte=midnight)
    entries = entries.annotate(committed_cents=F("reserved_cents") + F("spent_cents"))
    is_subtracted = Q(call__made_at__gte=midnight) | Q(what="matched")
    return entries.filter(Q(committed_cents__gt=0) | Q(committed_cents__lt=0) & is_subtracted)
