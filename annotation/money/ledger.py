"""Budgets, limits above studies, and the ledger: money in whole cents, each move booked once.

The database keeps a budget's counters within the budget; each change is a ledger entry with a unique key, written in
the same transaction. So a repeated booking changes nothing, two publishers cannot both take the last cent, and the
counters can be recomputed from the entries. Book inside a transaction.

Orders stay within the budget and the limits above it (``annotation.money.ledger``). Unasked payments of a crowd are
booked all the same; the budget records the excess.

    reserved = the price of held slots and screen-outs of external HITs + reservations of open calls
    spent    = rewards of approved sessions + paid screen-outs + bonuses, fees included

Limits say what an account and the installation may commit, and what a second person confirms. Committed is reserved or
spent. It counts for the account that asks, not the study's owner: a limit bounds what a stolen password or a wrong
script can spend, in whichever study. A day counts orders since midnight; released money counts again tomorrow, so that
nobody makes room by closing studies. The check locks the installation's row, so that two orders at once cannot both
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet, Sum, Value
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.people import installation_mark
from annotation.models import (
    Budget,
    Commitment,
    CrowdCall,
    CrowdSession,
    LedgerEntry,
    Publication,
    SpendingLimit,
)
from common.amounts import spell_cents
from common.audit import acting_person, current_act
from common.errors import NotThere, QuorumError, WrongState
from judgments.access.roles import note_event
from judgments.models import Study
from judgments.studies.studies import design_of

MOST_SHOWN = 30
P = ParamSpec("P")
R = TypeVar("R")


class OverLimit(QuorumError):
    """The order exceeds a limit above the study; nothing was done."""

    status = 409
    title = "Beyond a limit"


class NeedsConfirmation(QuorumError):
    """The order is so large that a second person must confirm it; nothing was done."""

    status = 409
    title = "A second person must confirm"

    def __init__(self, message: str, *, cents: int, currency: str) -> None:
        super().__init__(message)
        self.cents, self.currency = cents, currency


@dataclass(slots=True)
class Order:
    """The sum that one account asks for at once."""

    study: int
    account: int | None
    cents: int = 0
    currency: str = ""

    def add(self, currency: str, cents: int) -> None:
        self.currency, self.cents = currency, self.cents + cents


_order: ContextVar[Order | None] = ContextVar("order", default=None)
_agreed: ContextVar[int | None] = ContextVar("agreed_cents", default=None)


@contextmanager
def one_order(study: Study, account: int | None) -> Iterator[Order]:
    """Treat reservations within the block as one order, in one transaction; an inner block joins the outer.

    Raises:
        OverLimit, NeedsConfirmation: everything within the block is rolled back.
    """
    outer = _order.get()
    if outer is not None and outer.study == study.pk:
        before, done = outer.cents, False
        try:
            yield outer
            done = True
        finally:
            if not done:
                outer.cents = before
        return
    if account is None:
        person = acting_person()
        account = person.pk if person is not None else None
    order = Order(study.pk, account)
    token = _order.set(order)
    try:
        with transaction.atomic():
            yield order
            if order.cents:
                _check(order)
    finally:
        _order.reset(token)


def as_one_order(service: Callable[P, R]) -> Callable[P, R]:
    """Make a service with the arguments ``study`` and optionally ``by`` one order."""

    @wraps(service)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        study, by = kwargs["study"], kwargs.get("by")
        assert isinstance(study, Study)
        with one_order(study, by.pk if isinstance(by, User) else None):
            return service(*args, **kwargs)

    return run


@contextmanager
def without_second_person(cents: int) -> Iterator[None]:
    """Let an order of just this sum pass without a second person within the block."""
    token = _agreed.set(cents)
    try:
        yield
    finally:
        _agreed.reset(token)


@dataclass(frozen=True, slots=True)
class SpendingBound:
    """A limit and the sum that counts towards it; ``whose`` and ``of`` name it."""

    whose: str
    of: str
    limit_cents: int | None
    committed_cents: int


def bounds_of(currency: str, account: User | None) -> list[SpendingBound]:
    """Return the limits of the installation and of an account, with current commitments."""
    rows = {row.account_id: row for row in _limits(currency, account.pk if account else None)}
    common = rows.get(None) or SpendingLimit()
    bounds = [
        SpendingBound("this installation", "a day", common.day_cents, cents_committed_today(currency)),
        SpendingBound("this installation", "all time", common.total_cents, committed_cents(currency)),
    ]
    if account is not None:
        limit, name = rows.get(account.pk), f"the account {account.get_username()}"
        day = limit.day_cents if limit else common.account_day_cents
        total = limit.total_cents if limit else common.account_total_cents
        bounds += [
            SpendingBound(name, "a day", day, cents_committed_today(currency, account.pk)),
            SpendingBound(name, "all time", total, committed_cents(currency, account.pk)),
        ]
    return bounds


def _limits(currency: str, account: int | None) -> QuerySet[SpendingLimit]:
    return SpendingLimit.objects.filter(Q(account=None) | Q(account=account), currency=currency)


def _check(order: Order) -> None:
    """Raise if the order, which is booked in this transaction, exceeds a limit."""
    if not SpendingLimit.objects.exists():
        return
    # the next order waits here, and then counts this one
    lock = SpendingLimit.objects.select_for_update().filter(account=None, currency=order.currency).first()
    amount = spell_cents(order.cents, order.currency)
    if lock is None:
        raise OverLimit(
            f"Nothing was done: this asks for {amount}, and this installation has limits, but none in "
            f"{order.currency}; who manages its limits can set one."
        )
    account = User.objects.filter(pk=order.account).first() if order.account else None
    for bound in bounds_of(order.currency, account):
        if bound.limit_cents is not None and bound.committed_cents > bound.limit_cents:
            before = spell_cents(max(0, bound.committed_cents - order.cents), order.currency)
            raise OverLimit(
                f"Nothing was done: the limit of {bound.whose} for {bound.of} is "
                f"{spell_cents(bound.limit_cents, order.currency)}; {before} are committed, and this asks for {amount}."
            )
    _check_agreed(order, lock.confirm_cents)


def _check_agreed(order: Order, above: int | None) -> None:
    agreed = _agreed.get()
    amount = spell_cents(order.cents, order.currency)
    if agreed is not None and agreed != order.cents:
        raise WrongState(
            _("Nothing was done: %(agreed)s were asked for, and now it would take %(asked)s.")
            % {"agreed": spell_cents(agreed, order.currency), "asked": amount}
        )
    if agreed is None and above is not None and order.cents > above:
        raise NeedsConfirmation(
            f"Nothing was done yet: this asks for {amount}, and a second person must confirm what is above "
            f"{spell_cents(above, order.currency)}.",
            cents=order.cents,
            currency=order.currency,
        )


# Payments without work here, which an uploaded list names, and their return once the work is there. A made-up list must
# not use up what others may spend, so they count for their study and the account that uploaded it.
CLAIMED = ("unmatched", "matched")


def committed_cents(currency: str, account: int | None = None) -> int:
    """Return the reserved and spent cents of all, without what only a list claims, or of one account."""
    if account is None:
        sums = Budget.objects.filter(currency=currency).aggregate(
            cents=Sum(F("reserved_cents") + F("spent_cents"))
        )
        claims = LedgerEntry.objects.filter(budget__currency=currency, what__in=CLAIMED)
        claimed = claims.aggregate(cents=Sum("spent_cents"))["cents"] or 0
        return (sums["cents"] or 0) - claimed
    sums = Commitment.objects.filter(budget__currency=currency, account=account).aggregate(cents=Sum("cents"))
    return sums["cents"] or 0


def cents_committed_today(currency: str, account: int | None = None) -> int:
    """Return the cents committed since midnight, without those returned by failed calls of today."""
    rows = _of_today().filter(budget__currency=currency)
    rows = rows.exclude(what__in=CLAIMED) if account is None else rows.filter(by=account)
    return max(0, rows.aggregate(cents=Sum("moved"))["cents"] or 0)


def _of_today() -> QuerySet[Any]:
    # of the server's day, whatever the zone of who looks
    midnight = datetime.combine(timezone.now().astimezone(UTC), time.min, UTC)
    rows: QuerySet[Any] = LedgerEntry.objects.filter(at__gte=midnight)
    rows = rows.annotate(moved=F("reserved_cents") + F("spent_cents"))
    given_back = Q(call__made_at__gte=midnight) | Q(what="matched")  # work that turned out to be paid already
    return rows.filter(Q(moved__gt=0) | Q(moved__lt=0) & given_back)


FOR_ALL = ("account_day_cents", "account_total_cents", "confirm_cents")
SUMS = ("day_cents", "total_cents", *FOR_ALL)
SEE_LIMITS = "annotation.view_spendinglimit"
SET_LIMITS = (SEE_LIMITS, "annotation.add_spendinglimit", "annotation.change_spendinglimit")


def refuse_rules_of_one_account(account: User | None, sums: Mapping[str, int | None]) -> None:
    if account is not None and any(sums.get(name) is not None for name in FOR_ALL):
        raise WrongState(_("What holds for each account belongs to the limits of the installation."))


@transaction.atomic
def set_limits(*, account: str = "", currency: str, by: User, **sums: int | None) -> SpendingLimit:
    """Set all limits of an account, or of the installation (""), in one currency; missing ones limit nothing."""
    whose = User.objects.filter(username=account, is_staff=True).first() if account else None
    if account and whose is None:
        raise NotThere(
            _("Nothing was changed: there is no account of staff %(account)r.") % {"account": account[:80]}
        )
    refuse_rules_of_one_account(whose, sums)
    lock_row(currency)
    row, created = SpendingLimit.objects.update_or_create(
        account=whose, currency=currency, defaults={name: sums.get(name) for name in SUMS}
    )
    listed = ", ".join(f"{name} {sums.get(name)}" for name in SUMS)
    message = f"{listed} ({current_act().door})"
    flag = ADDITION if created else CHANGE
    LogEntry.objects.log_actions(by.pk, [row], flag, message, single_object=True)  # as the page does
    return row


def lock_row(currency: str) -> None:
    """Create the installation's row, which orders lock, and lock it."""
    SpendingLimit.objects.get_or_create(account=None, currency=currency)
    SpendingLimit.objects.select_for_update().get(account=None, currency=currency)


@dataclass(frozen=True, slots=True)
class AccountSpending:
    """The commitments and limits of an account, or of the installation (``account`` is "").

    Attributes:
        limit: row id of its own limit, None if it has none.
    """

    account: str
    currency: str
    today_cents: int
    day_cents: int | None
    committed_cents: int
    total_cents: int | None
    confirm_cents: int | None = None
    limit: int | None = None


def spending_by_account() -> list[AccountSpending]:
    """Return the installation and the accounts that commit most or have limits, for each currency."""
    shares = Commitment.objects.filter(account__isnull=False).order_by()
    limited = SpendingLimit.objects.filter(account__isnull=False).order_by("-pk")
    of_today = _of_today().filter(by__isnull=False).order_by()
    accounts = {
        *shares.values_list("account").annotate(n=Sum("cents")).filter(n__gt=0).order_by("-n")[:MOST_SHOWN],
        *of_today.values_list("by").annotate(n=Sum("moved")).order_by("-n")[:MOST_SHOWN],
    }
    pks = {pk for pk, _ in accounts} | set(limited.values_list("account", flat=True)[:MOST_SHOWN])
    sums: dict[tuple[str, int | None], int] = {
        (currency, account): cents
        for currency, account, cents in shares.filter(account__in=pks)
        .values_list("budget__currency", "account")
        .annotate(Sum("cents"))
        if cents
    }
    today: dict[tuple[str, int | None], int] = {
        (currency, account): max(0, cents)
        for currency, account, cents in of_today.filter(by__in=pks)
        .values_list("budget__currency", "by")
        .annotate(Sum("moved"))
    }
    limits = {
        (row.currency, row.account_id): row
        for row in SpendingLimit.objects.filter(Q(account=None) | Q(account__in=pks))
    }
    names = dict(User.objects.filter(pk__in=pks).values_list("pk", "username"))
    currencies = {
        *Budget.objects.order_by().values_list("currency", flat=True).distinct(),
        *(key[0] for key in limits),
    }
    rows = []
    for currency in sorted(currencies):
        common = limits.get((currency, None)) or SpendingLimit(currency=currency)
        sums[currency, None], today[currency, None] = (
            committed_cents(currency),
            cents_committed_today(currency),
        )
        for pk, name in [(None, ""), *sorted(names.items(), key=lambda pair: pair[1])]:
            key = (currency, pk)
            if key not in limits and key not in sums and key not in today:
                continue
            limit = limits.get(key) if pk else common
            rows.append(
                AccountSpending(
                    account=name,
                    currency=currency,
                    today_cents=today.get(key, 0),
                    day_cents=limit.day_cents if limit else common.account_day_cents,
                    committed_cents=sums.get(key, 0),
                    total_cents=limit.total_cents if limit else common.account_total_cents,
                    confirm_cents=None if pk else common.confirm_cents,
                    limit=limit.pk if limit else None,
                )
            )
    return rows


class OverBudget(QuorumError):
    """The booking exceeds the budget; nothing was booked."""

    status = 409
    title = "Beyond the budget"


def budget_of(study: Study, platform: str) -> Budget:
    defaults = {"currency": lambda: design_of(study).currency}
    return Budget.objects.get_or_create(study=study, platform=platform, defaults=defaults)[0]


@transaction.atomic
def set_budget(*, study: Study, platform: str, cents: int, by: User | None = None, why: str = "") -> Budget:
    budget = budget_of(study, platform)
    if cents == budget.budget_cents:
        return budget
    taken = F("reserved_cents") + F("spent_cents")
    room = Budget.objects.filter(pk=budget.pk).annotate(taken=taken)
    enough = Q(taken__lte=cents) | Q(budget_cents__lt=cents)
    if not room.filter(enough).update(budget_cents=cents, over_cents=Greatest(taken - cents, Value(0))):
        budget.refresh_from_db()
        raise WrongState(
            _(
                "The budget of study %(slug)r stays %(budget_cents)s: %(spent_cents)s are spent "
                "and %(reserved_cents)s reserved."
            )
            % {
                "slug": study.slug,
                "budget_cents": spell_cents(budget.budget_cents, budget.currency),
                "spent_cents": spell_cents(budget.spent_cents, budget.currency),
                "reserved_cents": spell_cents(budget.reserved_cents, budget.currency),
            }
        )
    note_event(
        study=study,
        what="budget",
        sentence=f"The budget at {platform} is {spell_cents(cents, budget.currency)}, before it was "
        f"{spell_cents(budget.budget_cents, budget.currency)}." + (f" {why}" if why else ""),
        by=by,
        platform=platform,
        cents=cents,
    )
    budget.refresh_from_db()
    return budget


def book(
    *,
    budget: Budget,
    key: str,
    what: str,
    reserved: int = 0,
    spent: int = 0,
    publication: Publication | None = None,
    session: CrowdSession | None = None,
    call: CrowdCall | None = None,
    account: int | None = None,
    fact: bool = False,
) -> bool:
    """Move money within the caller's transaction. Return False if this key was booked before.

    Args:
        account: row id of who asked for it; default: who asked for the call, else the current account.
        fact: whether the crowd paid it already, so that it is booked beyond the budget too.
    Raises:
        OverBudget: the sum would exceed the budget; nothing was booked.
    """
    act = current_act()
    asker = account or (call.made_by_id if call is not None else None)
    if asker is None and not fact:
        person = act.who()
        asker = person.pk if person is not None else None
    try:
        with transaction.atomic():
            LedgerEntry.objects.create(
                budget=budget,
                key=key,
                what=what,
                reserved_cents=reserved,
                spent_cents=spent,
                publication=publication,
                session=session,
                call=call,
                by_id=asker,
                door=act.door,
                request=act.call,
            )
            _move(budget, reserved, spent, fact=fact)
            _share(budget, reserved + spent, asker)
    except IntegrityError:
        if not LedgerEntry.objects.filter(key=key).exists():
            raise
        return False
    return True


def _move(budget: Budget, reserved: int, spent: int, *, fact: bool) -> None:
    rows = Budget.objects.filter(pk=budget.pk)
    taken = F("reserved_cents") + F("spent_cents") + reserved + spent
    if reserved + spent > 0 and not fact:
        rows = rows.filter(budget_cents__gte=taken)
    if rows.update(
        reserved_cents=F("reserved_cents") + reserved,
        spent_cents=F("spent_cents") + spent,
        over_cents=Greatest(taken - F("budget_cents"), Value(0)),
    ):
        return
    budget.refresh_from_db()
    raise OverBudget(
        f"This costs {spell_cents(reserved + spent, budget.currency)}; of the budget of study "
        f"{budget.study.slug!r}, {spell_cents(budget.budget_cents, budget.currency)}, "
        f"{spell_cents(budget.left_cents, budget.currency)} are left: nothing was booked."
    )


def _share(budget: Budget, cents: int, account: int | None) -> None:
    """Add committed cents to the account's share, or return released ones. The budget's row is locked.

    Slots of one external HIT may be of several accounts: released cents return to who asked for the call, then to the
    largest share.
    """
    if cents > 0:
        share, _ = Commitment.objects.get_or_create(budget=budget, account_id=account)
        Commitment.objects.filter(pk=share.pk).update(cents=F("cents") + cents)
        return
    left = -cents
    if not left:
        return
    shares = Commitment.objects.filter(budget=budget, cents__gt=0).order_by("-cents", "pk")
    for share in sorted(shares, key=lambda row: account is None or row.account_id != account):
        back = min(left, share.cents)
        Commitment.objects.filter(pk=share.pk).update(cents=F("cents") - back)
        left -= back
        if not left:
            return


def reserve_for_call(*, call: CrowdCall, cents: int, by: User | None = None) -> None:
    """Reserve the cost of a call, within the limits of who asks for it: ``by``, else the call's author.

    Raises:
        OverBudget: the budget does not have it.
        OverLimit, NeedsConfirmation: see ``annotation.money.ledger``.
    """
    if not cents or call.reserved_cents:
        return
    account = by.pk if by is not None else call.made_by_id
    with one_order(call.study, account) as order:
        budget = budget_of(call.study, call.platform)
        if _book_for(call, "reserve", cents, budget, account=order.account):
            order.add(budget.currency, cents)
            _set_reservation(call, cents)


def reserve_again(*, call: CrowdCall, cents: int) -> None:
    """Reserve the cost of a call that the crowd carried out although its reservation was released."""
    if cents and not call.reserved_cents:
        budget = budget_of(call.study, call.platform)
        if _book_for(call, "reserve", cents, budget, account=call.made_by_id):
            _set_reservation(call, cents)


def _book_for(
    call: CrowdCall, what: str, reserved: int, budget: Budget, *, account: int | None = None
) -> bool:
    """Book a change of a call's reservation; a retried call reserves again, so the entry's number is in its key."""
    number = LedgerEntry.objects.filter(call=call, what=what).count() + 1
    key = f"{what}:{call.key}:{number}"
    if reserved < 0:  # it comes back to who asked last, who may not be who asked first
        last = LedgerEntry.objects.filter(call=call, what="reserve").order_by("-pk")
        account = last.values_list("by", flat=True).first()
    return book(budget=budget, key=key, what=what, reserved=reserved, call=call, account=account)


def _set_reservation(call: CrowdCall, cents: int) -> None:
    CrowdCall.objects.filter(pk=call.pk).update(reserved_cents=cents)
    call.reserved_cents = cents


def release_call(*, call: CrowdCall) -> None:
    if call.reserved_cents:
        _book_for(call, "release", -call.reserved_cents, budget_of(call.study, call.platform))
        _set_reservation(call, 0)


def spend_bonus(*, call: CrowdCall) -> None:
    budget = budget_of(call.study, call.platform)
    cents = call.reserved_cents
    book(
        budget=budget,
        key=f"bonus:{call.key}",
        what="bonus",
        reserved=-cents,
        spent=cents,
        session=call.session,
        call=call,
    )
    _set_reservation(call, 0)


def hold_slots(*, call: CrowdCall, publication: Publication, places: int, screen_outs: int = 0) -> None:
    """Turn a call's reservation into held slots and screen-outs, and release the rest."""
    Publication.objects.filter(pk=publication.pk).update(
        held_slots=F("held_slots") + places, screen_outs_held=F("screen_outs_held") + screen_outs
    )
    more = call.reserved_cents - places * publication.price_cents - screen_outs * publication.screen_out_cents
    if more > 0:
        _book_for(call, "release", -more, budget_of(call.study, call.platform))
    _set_reservation(call, 0)


def release_slots(*, publication: Publication, places: int) -> bool:
    """Release the money of slots that nobody will fill. Return False if fewer are held."""
    locked = Publication.objects.select_for_update().get(pk=publication.pk)
    if places <= 0 or locked.held_slots < places:
        return False
    _release_unfilled(locked, places * locked.price_cents)
    return bool(Publication.objects.filter(pk=locked.pk).update(held_slots=F("held_slots") - places))


def release_screen_outs(*, publication: Publication) -> None:
    """Release the money of screen-outs that will not come any more. The caller has locked the row."""
    reserved = publication.screen_outs_held
    if not reserved:
        return
    _release_unfilled(publication, reserved * publication.screen_out_cents)
    Publication.objects.filter(pk=publication.pk).update(screen_outs_held=F("screen_outs_held") - reserved)
    publication.screen_outs_held = 0


def _release_unfilled(publication: Publication, cents: int) -> None:
    number = LedgerEntry.objects.filter(publication=publication, what="release").count() + 1
    book(
        budget=budget_of(publication.study, publication.platform),
        key=f"unfilled:{publication.token}:{number}",
        what="release",
        reserved=-cents,
        publication=publication,
    )


@transaction.atomic
def pay_screen_out(*, session: CrowdSession) -> bool:
    """Spend the pay of a person who was screened out. Return False if it was booked, or pays nothing."""
    publication = session.publication
    if not publication.screen_out_cents:
        return False
    CrowdSession.objects.select_for_update().get(pk=session.pk)  # a sync at the same moment waits
    if _is_booked(_key(session, "screen-out")):
        return False
    reserved = Publication.objects.filter(pk=publication.pk, screen_outs_held__gt=0).update(
        screen_outs_held=F("screen_outs_held") - 1
    )
    cents = publication.screen_out_cents
    return _book_for_session(
        session, "screen-out", what="screened-out", reserved=-cents * reserved, spent=cents, fact=True
    )


def pay_session(*, session: CrowdSession, fact: bool = False) -> bool:
    """Spend the price of an approved session. Return False if it was paid.

    It comes from the external HIT's held slots or, if those were released, from the rest of the budget.

    Args:
        fact: whether the crowd paid it already.
    Raises:
        OverBudget: the slots were released, and nothing is left.
    """
    if _is_booked(_key(session, "reward")):
        return False
    publication = session.publication
    paid_before = unmatched_key(session.platform, session.worker.name, session.external_id)
    if _is_booked(paid_before):  # the crowd paid it before it counted here
        _book_for_session(session, "matched", what="matched", spent=-publication.price_cents)
    rejected_before = session.booked == CrowdSession.Booked.RELEASED
    reserved = 0 if rejected_before else _take_slot(publication)
    with one_order(session.study, None) as order:
        if not reserved and not fact:
            order.add(budget_of(session.study, session.platform).currency, publication.price_cents)
        return _book_for_session(
            session,
            "reward",
            what="reward",
            reserved=-publication.price_cents * reserved,
            spent=publication.price_cents,
            fact=fact and not reserved,
        )


def unmatched_key(platform: str, worker: str, external_id: str) -> str:
    """Return the key of ``pay_unmatched`` for pseudonyms of a person, who can be erased, and a submission."""
    return f"{platform}:{installation_mark('unmatched', worker)[:16]}:{external_id}:unmatched"


def pay_unmatched(
    *, publication: Publication, key: str, session: CrowdSession | None = None, by: User | None = None
) -> bool:
    """Spend an unmatched payment of the crowd, for the account that says so. Return False if it was booked."""
    return book(
        budget=budget_of(publication.study, publication.platform),
        key=key,
        what="unmatched",
        spent=publication.price_cents,
        publication=publication,
        session=session,
        account=by.pk if by is not None else None,
        fact=True,
    )


def release_rejected(*, session: CrowdSession) -> bool:
    """Release the price of a rejected session. Return False if it was released."""
    publication = session.publication
    if _is_booked(_key(session, "rejected")) or not _take_slot(publication):
        return False
    return _book_for_session(session, "rejected", what="release", reserved=-publication.price_cents)


def _book_for_session(session: CrowdSession, key: str, **booking: Any) -> bool:
    budget = budget_of(session.study, session.platform)
    key = _key(session, key)
    return book(budget=budget, key=key, publication=session.publication, session=session, **booking)


def _is_booked(key: str) -> bool:
    return LedgerEntry.objects.filter(key=key).exists()


def _take_slot(publication: Publication) -> int:
    return Publication.objects.filter(pk=publication.pk, held_slots__gt=0).update(
        held_slots=F("held_slots") - 1
    )


def _key(session: CrowdSession, what: str) -> str:
    return f"{session.platform}:{session.worker_id}:{session.external_id}:{what}"


def ledger_sums(budget: Budget) -> tuple[int, int]:
    """Return reserved and spent, recomputed from the ledger."""
    sums = LedgerEntry.objects.filter(budget=budget).aggregate(
        reserved=Sum("reserved_cents"), spent=Sum("spent_cents")
    )
    return sums["reserved"] or 0, sums["spent"] or 0


def reserved_cents(budget: Budget) -> int:
    """Return reserved, recomputed from held slots and open calls."""
    here = {"study": budget.study, "platform": budget.platform}
    rows = Publication.objects.filter(**here)
    slots = rows.filter(Q(held_slots__gt=0) | Q(screen_outs_held__gt=0)).aggregate(
        cents=Sum(
            F("held_slots") * (F("reward_cents") + F("fee_cents"))
            + F("screen_outs_held") * F("screen_out_cents")
        )
    )["cents"]
    calls = CrowdCall.objects.filter(**here).aggregate(cents=Sum("reserved_cents"))["cents"]
    return (slots or 0) + (calls or 0)
