"""Budgets and the ledger: money in whole cents, each change booked once.

A budget has counters of the reserved and the spent cents::

    reserved = the price of held places and screen-outs of publications + reservations of unfinished crowd calls
    spent    = rewards of approved sessions + paid screen-outs + bonuses, fees included

A database constraint keeps the counters within the budget. Each change of them is also a ledger entry with a unique
key, written in the same transaction. So a repeated booking changes nothing, two simultaneous orders cannot both take
the last cent, and the counters can be recomputed from the entries. Call the functions that book in a transaction.

Orders stay within the budget and the limits above it (``annotation.money.limits``). Payments that a crowd made by
itself are booked even beyond them; the budget records the excess (``over_cents``).
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q, Sum, Value
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from annotation.models import Budget, Commitment, CrowdCall, CrowdSession, LedgerEntry, Publication
from common.amounts import spell_cents
from common.audit import current_act
from common.errors import QuorumError, WrongState
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.designs import design_of


class OverBudget(QuorumError):
    """Raised if a booking would exceed the budget; nothing was booked."""

    status = 409
    title = "Beyond the budget"


def budget_of(study: Study, platform: str) -> Budget:
    """Return the study's budget on a platform; create it if it is missing."""
    # the function is only called if the budget is created, since reading the design takes long
    defaults = {"currency": lambda: design_of(study).currency}
    budget, _created = Budget.objects.get_or_create(study=study, platform=platform, defaults=defaults)
    return budget


@transaction.atomic
def set_budget(*, study: Study, platform: str, cents: int, by: User | None = None, why: str = "") -> Budget:
    """Set the study's budget on a platform. Raise WrongState if it would be less than what is reserved or spent."""
    budget = budget_of(study, platform)
    if cents == budget.budget_cents:
        return budget
    committed_cents = F("reserved_cents") + F("spent_cents")
    budgets = Budget.objects.filter(pk=budget.pk).annotate(committed=committed_cents)
    # an exceeded budget may be raised even if the new budget is still exceeded
    is_allowed = Q(committed__lte=cents) | Q(budget_cents__lt=cents)
    over_cents = Greatest(committed_cents - cents, Value(0))
    if not budgets.filter(is_allowed).update(budget_cents=cents, over_cents=over_cents):
        budget.refresh_from_db()
        raise WrongState(
            _(
                "The budget of study %(slug)r was not changed. It is %(budget_cents)s. Of this, %(spent_cents)s "
                "is spent and %(reserved_cents)s is reserved."
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


def book_money(
    *,
    budget: Budget,
    key: str,
    what: str,
    reserved: int = 0,
    spent: int = 0,
    publication: Publication | None = None,
    session: CrowdSession | None = None,
    call: CrowdCall | None = None,
    account_id: int | None = None,
    is_fact: bool = False,
) -> bool:
    """Change reserved and spent money within the caller's transaction. Return False if the key was booked before.

    Args:
        key: the unique key of the ledger entry.
        what: the kind of the entry (``LedgerEntry.what``).
        reserved, spent: the cents to add; negative ones are subtracted.
        publication, session, call: what the money is for.
        account_id: row id of the ordering account; default: the call's author, else the current account.
        is_fact: whether the crowd has already paid the money. It is then booked even beyond the budget.

    Raises:
        OverBudget: the sum would exceed the budget; nothing was booked.
    """
    act = current_act()
    account_id = account_id or (call.made_by_id if call is not None else None)
    if account_id is None and not is_fact:  # nobody ordered what the crowd paid by itself
        person = act.find_account()
        account_id = person.pk if person is not None else None
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
                by_id=account_id,
                door=act.origin,  # "page", "api", "job" or "command"
                request=act.origin_detail,
            )
            _update_budget(budget, reserved, spent, is_fact=is_fact)
            _update_commitments(budget, reserved + spent, account_id)
    except IntegrityError:
        if not LedgerEntry.objects.filter(key=key).exists():
            raise
        return False
    return True


def _update_budget(budget: Budget, reserved: int, spent: int, *, is_fact: bool) -> None:
    """Add cents to the budget's counters. Raise OverBudget if they would exceed the budget, unless ``is_fact``."""
    budgets = Budget.objects.filter(pk=budget.pk)
    committed_cents = F("reserved_cents") + F("spent_cents") + reserved + spent
    if reserved + spent > 0 and not is_fact:
        budgets = budgets.filter(budget_cents__gte=committed_cents)
    is_updated = budgets.update(
        reserved_cents=F("reserved_cents") + reserved,
        spent_cents=F("spent_cents") + spent,
        over_cents=Greatest(committed_cents - F("budget_cents"), Value(0)),
    )
    if is_updated:
        return
    budget.refresh_from_db()
    raise OverBudget(
        f"This costs {spell_cents(reserved + spent, budget.currency)}; of the budget of study "
        f"{budget.study.slug!r}, {spell_cents(budget.budget_cents, budget.currency)}, "
        f"{spell_cents(budget.left_cents, budget.currency)} is left: nothing was booked."
    )


def _update_commitments(budget: Budget, cents: int, account_id: int | None) -> None:
    """Add newly committed cents to the account's commitment, or subtract released cents (negative ``cents``).

    The caller has locked the budget. Several accounts may have ordered the places of one publication. Released cents
    are subtracted from the commitment of the account first, then from the largest commitments of others.
    """
    if cents > 0:
        commitment, _created = Commitment.objects.get_or_create(budget=budget, account_id=account_id)
        Commitment.objects.filter(pk=commitment.pk).update(cents=F("cents") + cents)
        return
    remaining_cents = -cents
    if not remaining_cents:
        return

    def is_of_other_account(commitment: Commitment) -> bool:
        return account_id is None or commitment.account_id != account_id

    commitments = Commitment.objects.filter(budget=budget, cents__gt=0).order_by("-cents", "pk")
    # false sorts before true, so the account's commitment comes first
    for commitment in sorted(commitments, key=is_of_other_account):
        released_cents = min(remaining_cents, commitment.cents)
        Commitment.objects.filter(pk=commitment.pk).update(cents=F("cents") - released_cents)
        remaining_cents -= released_cents
        if not remaining_cents:
            return


def ledger_sums(budget: Budget) -> tuple[int, int]:
    """Return the reserved and the spent cents, recomputed from the ledger."""
    sums = LedgerEntry.objects.filter(budget=budget).aggregate(
        reserved=Sum("reserved_cents"), spent=Sum("spent_cents")
    )
    return sums["reserved"] or 0, sums["spent"] or 0


def reserved_cents(budget: Budget) -> int:
    """Return the reserved cents, recomputed from held places and unfinished crowd calls."""
    filters = {"study": budget.study, "platform": budget.platform}
    publications = Publication.objects.filter(Q(held_slots__gt=0) | Q(screen_outs_held__gt=0), **filters)
    held_cents = F("held_slots") * (F("reward_cents") + F("fee_cents"))
    held_cents += F("screen_outs_held") * F("screen_out_cents")
    cents_of_places = publications.aggregate(cents=Sum(held_cents))["cents"]
    cents_of_calls = CrowdCall.objects.filter(**filters).aggregate(cents=Sum("reserved_cents"))["cents"]
    return (cents_of_places or 0) + (cents_of_calls or 0)
