"""Set the limits of accounts, and show how much each account has committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, Sum
from django.utils.translation import gettext as _

from annotation.models import Budget, Commitment, SpendingLimit
from annotation.money.limits import cents_committed_today, committed_cents, entries_of_today
from common.audit import current_act
from common.errors import ObjectNotFound, WrongState

MAX_SHOWN = 30

# limits that only the installation's row has, which has no account
INSTALLATION_SUMS = ("account_day_cents", "account_total_cents", "confirm_cents")
SUMS = ("day_cents", "total_cents", *INSTALLATION_SUMS)
VIEW_LIMITS = "annotation.view_spendinglimit"
SET_LIMITS = (VIEW_LIMITS, "annotation.add_spendinglimit", "annotation.change_spendinglimit")


def refuse_rules_of_one_account(account: User | None, sums: Mapping[str, int | None]) -> None:
    if account is not None and any(sums.get(name) is not None for name in INSTALLATION_SUMS):
        raise WrongState(
            _("Limits for each account can only be set together with the limits of the whole installation.")
        )


@transaction.atomic
def set_limits(*, account: str = "", currency: str, by: User, **sums: int | None) -> SpendingLimit:
    """Set all limits of an account, or of the installation (""), in one currency. None means no limit."""
    whose = User.objects.filter(username=account, is_staff=True).first() if account else None
    if account and whose is None:
        raise ObjectNotFound(
            _("Nothing was changed: there is no staff account %(account)r.") % {"account": account[:80]}
        )
    refuse_rules_of_one_account(whose, sums)
    lock_row(currency)
    row, created = SpendingLimit.objects.update_or_create(
        account=whose, currency=currency, defaults={name: sums.get(name) for name in SUMS}
    )
    listed = ", ".join(f"{name} {sums.get(name)}" for name in SUMS)
    message = f"{listed} ({current_act().door})"
    flag = ADDITION if created else CHANGE
    # the same as on the admin page
    LogEntry.objects.log_actions(by.pk, [row], flag, message, single_object=True)
    return row


def lock_row(currency: str) -> None:
    """Lock the installation's row of limits; create it if it is missing. All orders lock this row."""
    SpendingLimit.objects.get_or_create(account=None, currency=currency)
    SpendingLimit.objects.select_for_update().get(account=None, currency=currency)


@dataclass(frozen=True, slots=True)
class AccountSpending:
    """The commitments and limits of an account, or of the installation (``account`` is "").

    Attributes:
        limit: row id of the account's own limit; None if it has none.
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
    """Return, for each currency, the installation and the accounts with limits or with the largest commitments."""
    shares = Commitment.objects.filter(account__isnull=False).order_by()
    limited = SpendingLimit.objects.filter(account__isnull=False).order_by("-pk")
    of_today = entries_of_today().filter(by__isnull=False).order_by()
    accounts = {
        *shares.values_list("account").annotate(n=Sum("cents")).filter(n__gt=0).order_by("-n")[:MAX_SHOWN],
        *of_today.values_list("by").annotate(n=Sum("moved")).order_by("-n")[:MAX_SHOWN],
    }
    pks = {pk for pk, _ in accounts} | set(limited.values_list("account", flat=True)[:MAX_SHOWN])
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
