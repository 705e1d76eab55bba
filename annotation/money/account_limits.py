"""Set the spending limits of accounts and of the installation, and list how much each account has committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.utils.translation import gettext as _

from annotation.models import Budget, Commitment, LedgerEntry, SpendingLimit
from annotation.money.limits import cents_committed_today, committed_cents, entries_of_today
from common.audit import current_act
from common.errors import ObjectNotFound, WrongState

MAX_SHOWN = 30  # maximum number of accounts that are listed for each reason

# limits that only the installation may have; its row of limits has no account
INSTALLATION_FIELDS = ("account_day_cents", "account_total_cents", "confirm_cents")
LIMIT_FIELDS = ("day_cents", "total_cents", *INSTALLATION_FIELDS)
VIEW_LIMITS = "annotation.view_spendinglimit"
SET_LIMITS = (VIEW_LIMITS, "annotation.add_spendinglimit", "annotation.change_spendinglimit")


def refuse_installation_limits_of_account(owner: User | None, limits: Mapping[str, int | None]) -> None:
    """Raise WrongState if the limits of ``owner``, an account, include one that only the installation may set."""
    if owner is not None and any(limits.get(name) is not None for name in INSTALLATION_FIELDS):
        raise WrongState(
            _("Limits for each account can only be set together with the limits of the whole installation.")
        )


@transaction.atomic
def set_limits(*, account: str = "", currency: str, by: User, **limits: int | None) -> SpendingLimit:
    """Set all limits of an account, or of the installation, in one currency.

    Args:
        account: the account's name; "" for the installation.
        limits: the limits in cents, by their names in ``LIMIT_FIELDS``. A limit that is missing or None is removed.
    """
    owner = User.objects.filter(username=account, is_staff=True).first() if account else None
    if account and owner is None:
        raise ObjectNotFound(
            _("Nothing was changed: there is no staff account %(account)r.") % {"account": account[:80]}
        )
    refuse_installation_limits_of_account(owner, limits)
    lock_limits(currency)
    row, is_new = SpendingLimit.objects.update_or_create(
        account=owner, currency=currency, defaults={name: limits.get(name) for name in LIMIT_FIELDS}
    )
    limits_text = ", ".join(f"{name} {limits.get(name)}" for name in LIMIT_FIELDS)
    message = f"{limits_text} ({current_act().origin})"
    # the admin page logs its changes, too
    flag = ADDITION if is_new else CHANGE
    LogEntry.objects.log_actions(by.pk, [row], flag, message, single_object=True)
    return row


def lock_limits(currency: str) -> None:
    """Lock the installation's row of limits, and create it if it is missing.

    Every order locks this row while it is checked, so no order is checked against limits that are being changed.
    """
    SpendingLimit.objects.get_or_create(account=None, currency=currency)
    SpendingLimit.objects.select_for_update().get(account=None, currency=currency)


@dataclass(frozen=True, slots=True)
class AccountSpending:
    """The commitments and limits of an account, or of the installation (``account`` is "").

    Attributes:
        today_cents: the cents committed since midnight.
        committed_cents: the reserved and spent cents of all time.
        day_cents: the limit of ``today_cents``; None if there is none.
        total_cents: the limit of ``committed_cents``; None if there is none.
        confirm_cents: the sum above which a second person confirms an order; None for accounts.
        limit: row id of the account's individual limits; None if the general limits of accounts apply.
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
    """Return what the installation and accounts have committed in each currency, with their limits.

    Accounts are listed if they have limits of their own, or if they have committed most, of all time or today.
    """
    commitments = Commitment.objects.filter(account__isnull=False).order_by()
    entries = entries_of_today().filter(by__isnull=False).order_by()
    account_ids = _accounts_to_list(commitments, entries)
    # sums and limits by currency and account, where the account None stands for the installation
    committed_sums: dict[tuple[str, int | None], int] = {}
    sums = commitments.filter(account__in=account_ids).values_list("budget__currency", "account")
    for currency, account_id, cents in sums.annotate(Sum("cents")):
        if cents:
            committed_sums[currency, account_id] = cents
    committed_today: dict[tuple[str, int | None], int] = {}
    sums_of_today = entries.filter(by__in=account_ids).values_list("budget__currency", "by")
    for currency, account_id, cents in sums_of_today.annotate(Sum("committed_cents")):
        committed_today[currency, account_id] = max(0, cents)  # what is released today may be more
    limit_rows = SpendingLimit.objects.filter(Q(account=None) | Q(account__in=account_ids))
    limits = {(row.currency, row.account_id): row for row in limit_rows}
    names = dict(User.objects.filter(pk__in=account_ids).values_list("pk", "username"))
    currencies = {
        *Budget.objects.order_by().values_list("currency", flat=True).distinct(),
        *(currency for currency, _account in limits),
    }
    spending = []
    for currency in sorted(currencies):
        # the installation's limits; an empty row has none
        general_limits = limits.get((currency, None)) or SpendingLimit(currency=currency)
        committed_sums[currency, None] = committed_cents(currency)
        committed_today[currency, None] = cents_committed_today(currency)
        for account_id, name in [(None, ""), *sorted(names.items(), key=lambda item: item[1])]:
            key = (currency, account_id)
            if key not in limits and key not in committed_sums and key not in committed_today:
                continue
            limit_row = limits.get(key) if account_id else general_limits
            spending.append(
                AccountSpending(
                    account=name,
                    currency=currency,
                    today_cents=committed_today.get(key, 0),
                    day_cents=limit_row.day_cents if limit_row else general_limits.account_day_cents,
                    committed_cents=committed_sums.get(key, 0),
                    total_cents=limit_row.total_cents if limit_row else general_limits.account_total_cents,
                    confirm_cents=None if account_id else general_limits.confirm_cents,
                    limit=limit_row.pk if limit_row else None,
                )
            )
    return spending


def _accounts_to_list(commitments: QuerySet[Commitment], entries: QuerySet[LedgerEntry]) -> set[int]:
    """Return the row ids of the accounts that committed most, of all time or today, or have limits of their own.

    Args:
        entries: today's ledger entries of accounts, from ``entries_of_today``.
    """
    sums = commitments.values_list("account").annotate(n=Sum("cents")).filter(n__gt=0).order_by("-n")
    sums_of_today = entries.values_list("by").annotate(n=Sum("committed_cents")).order_by("-n")
    account_ids = {account_id for account_id, _cents in [*sums[:MAX_SHOWN], *sums_of_today[:MAX_SHOWN]]}
    account_limits = SpendingLimit.objects.filter(account__isnull=False).order_by("-pk")
    return account_ids | set(account_limits.values_list("account", flat=True)[:MAX_SHOWN])
