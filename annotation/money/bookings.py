"""Book in the ledger what outbox calls, places, screen-outs and sessions reserve, spend and release.

A call reserves money when it is written. When its work is published, the reservation becomes money that is held for
the places of the publication (``Publication.held_slots``); the money of a place pays one session. The key of a ledger
entry, such as "reserve:publish-3f2a:1", says what is booked, so that nothing is booked twice.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from annotation.crowds.people import keyed_hash
from annotation.models import Budget, CrowdCall, CrowdSession, LedgerEntry, Publication
from annotation.money.ledger import book_money, budget_of
from annotation.money.limits import one_order


def reserve_for_call(*, call: CrowdCall, cents: int, by: User | None = None) -> None:
    """Reserve the cost of a call. It counts towards the limits of the account ``by``, or else of the call's author.

    Raises:
        OverBudget: the budget cannot cover it.
        OverLimit, NeedsConfirmation: see ``annotation.money.limits``.
    """
    if not cents or call.reserved_cents:
        return
    account_id = by.pk if by is not None else call.made_by_id
    with one_order(call.study, account_id) as order:
        budget = budget_of(call.study, call.platform)
        if _book_for_call(call, "reserve", cents, budget, account_id=order.account_id):
            order.add(budget.currency, cents)
            _set_reservation(call, cents)


def reserve_again(*, call: CrowdCall, cents: int) -> None:
    """Reserve the cost of a call that the crowd carried out, if its reservation had been released before."""
    if not cents or call.reserved_cents:
        return
    budget = budget_of(call.study, call.platform)
    if _book_for_call(call, "reserve", cents, budget, account_id=call.made_by_id):
        _set_reservation(call, cents)


def _book_for_call(
    call: CrowdCall, action: str, cents: int, budget: Budget, *, account_id: int | None = None
) -> bool:
    """Add ``cents`` to the reservation of a call, or subtract negative ones. Return False if another process just did.

    The key of the entry contains its number, since a retried call reserves money again.
    """
    number = LedgerEntry.objects.filter(call=call, what=action).count() + 1
    key = f"{action}:{call.key}:{number}"
    if cents < 0:  # released money goes to the account of the last reservation
        reservations = LedgerEntry.objects.filter(call=call, what="reserve").order_by("-pk")
        account_id = reservations.values_list("by", flat=True).first()
    return book_money(budget=budget, key=key, what=action, reserved=cents, call=call, account_id=account_id)


def _set_reservation(call: CrowdCall, cents: int) -> None:
    """Store the reservation in the call's row, and in the caller's object."""
    CrowdCall.objects.filter(pk=call.pk).update(reserved_cents=cents)
    call.reserved_cents = cents


def release_reservation(*, call: CrowdCall) -> None:
    if call.reserved_cents:
        _book_for_call(call, "release", -call.reserved_cents, budget_of(call.study, call.platform))
        _set_reservation(call, 0)


def spend_bonus(*, call: CrowdCall) -> None:
    budget = budget_of(call.study, call.platform)
    cents = call.reserved_cents
    book_money(
        budget=budget,
        key=f"bonus:{call.key}",
        what="bonus",
        reserved=-cents,
        spent=cents,
        session=call.session,
        call=call,
    )
    _set_reservation(call, 0)


def hold_places(*, call: CrowdCall, publication: Publication, places: int, screen_outs: int = 0) -> None:
    """Hold the reservation of a call for ``places`` places and ``screen_outs`` screen-outs, and release the rest."""
    Publication.objects.filter(pk=publication.pk).update(
        held_slots=F("held_slots") + places, screen_outs_held=F("screen_outs_held") + screen_outs
    )
    held_cents = places * publication.price_cents + screen_outs * publication.screen_out_cents
    rest_cents = call.reserved_cents - held_cents
    if rest_cents > 0:
        _book_for_call(call, "release", -rest_cents, budget_of(call.study, call.platform))
    _set_reservation(call, 0)


def release_places(*, publication: Publication, places: int) -> bool:
    """Release the money of places that nobody will fill. Return False if fewer places are held."""
    locked_publication = Publication.objects.select_for_update().get(pk=publication.pk)
    if places <= 0 or locked_publication.held_slots < places:
        return False
    _book_release(locked_publication, places * locked_publication.price_cents)
    return bool(Publication.objects.filter(pk=publication.pk).update(held_slots=F("held_slots") - places))


def release_screen_outs(*, publication: Publication) -> None:
    """Release the money of unused screen-outs. The caller must have locked the publication's row."""
    held_count = publication.screen_outs_held
    if not held_count:
        return
    _book_release(publication, held_count * publication.screen_out_cents)
    Publication.objects.filter(pk=publication.pk).update(screen_outs_held=F("screen_outs_held") - held_count)
    publication.screen_outs_held = 0


def _book_release(publication: Publication, cents: int) -> None:
    """Book the release of money that a publication holds for places or screen-outs."""
    number = LedgerEntry.objects.filter(publication=publication, what="release").count() + 1
    book_money(
        budget=budget_of(publication.study, publication.platform),
        key=f"unfilled:{publication.token}:{number}",
        what="release",
        reserved=-cents,
        publication=publication,
    )


@transaction.atomic
def pay_screen_out(*, session: CrowdSession) -> bool:
    """Spend the pay for a person who was screened out. Return False if it was booked before, or is zero.

    The money comes from the held screen-outs. If none is left, it is booked even beyond the budget, since the crowd has
    paid it.
    """
    publication = session.publication
    if not publication.screen_out_cents:
        return False
    CrowdSession.objects.select_for_update().get(pk=session.pk)  # a simultaneous sync waits for this lock
    if _is_booked(_entry_key(session, "screen-out")):
        return False
    # 1, or 0 if no money is held for another screen-out
    held_count = Publication.objects.filter(pk=publication.pk, screen_outs_held__gt=0).update(
        screen_outs_held=F("screen_outs_held") - 1
    )
    cents = publication.screen_out_cents
    return _book_for_session(
        session, "screen-out", what="screened-out", reserved=-cents * held_count, spent=cents, is_fact=True
    )


def pay_session(*, session: CrowdSession, is_fact: bool = False) -> bool:
    """Spend the price of an approved session. Return False if it was paid before.

    The money comes from a held place of the publication or, if none is left, from the rest of the budget.

    Args:
        is_fact: whether the crowd has already paid the session. It is then booked even beyond the budget.

    Raises:
        OverBudget: the places were released, and the budget has nothing left.
    """
    if _is_booked(_entry_key(session, "reward")):
        return False
    publication = session.publication
    claim_key = unmatched_payment_key(session.platform, session.worker.name, session.external_id)
    # a panel's list had claimed this payment before the session existed; take that booking back
    if _is_booked(claim_key):
        _book_for_session(session, "matched", what="matched", spent=-publication.price_cents)
    was_rejected = session.booked == CrowdSession.Booked.RELEASED  # its place was released then
    held_count = 0 if was_rejected else _take_held_place(publication)
    with one_order(session.study, None) as order:  # None: the account that acts now, if any
        if not held_count and not is_fact:  # held money counted towards the limits when it was reserved
            order.add(budget_of(session.study, session.platform).currency, publication.price_cents)
        return _book_for_session(
            session,
            "reward",
            what="reward",
            reserved=-publication.price_cents * held_count,
            spent=publication.price_cents,
            is_fact=is_fact and not held_count,  # the money of a held place is within the budget anyway
        )


def unmatched_payment_key(platform: str, worker: str, external_id: str) -> str:
    """Return the ledger key of a payment without a session. It contains pseudonyms, since the person may be erased."""
    return f"{platform}:{keyed_hash('unmatched', worker)[:16]}:{external_id}:unmatched"


def book_unmatched_payment(
    *, publication: Publication, key: str, session: CrowdSession | None = None, by: User | None = None
) -> bool:
    """Book a payment of the panel that no session accounts for. Return False if it was booked before.

    Args:
        key: the ledger key, from ``unmatched_payment_key``.
        session: the person's session, if there is one that is not to be paid.
        by: the account that uploaded the panel's list.
    """
    return book_money(
        budget=budget_of(publication.study, publication.platform),
        key=key,
        what="unmatched",
        spent=publication.price_cents,
        publication=publication,
        session=session,
        account_id=by.pk if by is not None else None,
        is_fact=True,
    )


def release_rejected_session(*, session: CrowdSession) -> bool:
    """Release the price of a rejected session. Return False if it was released before."""
    publication = session.publication
    if _is_booked(_entry_key(session, "rejected")) or not _take_held_place(publication):
        return False
    return _book_for_session(session, "rejected", what="release", reserved=-publication.price_cents)


def _book_for_session(session: CrowdSession, purpose: str, **booking: Any) -> bool:
    """Book money for a session, once for each purpose. ``booking`` are further arguments of ``book_money``."""
    budget, key = budget_of(session.study, session.platform), _entry_key(session, purpose)
    return book_money(budget=budget, key=key, publication=session.publication, session=session, **booking)


def _is_booked(key: str) -> bool:
    return LedgerEntry.objects.filter(key=key).exists()


def _take_held_place(publication: Publication) -> int:
    """Take one of the places for which money is held. Return 1, or 0 if there is none."""
    return Publication.objects.filter(pk=publication.pk, held_slots__gt=0).update(
        held_slots=F("held_slots") - 1
    )


def _entry_key(session: CrowdSession, purpose: str) -> str:
    """Return the key of the ledger entry for a session and a purpose, such as "mturk-live:7:3XYZ:reward"."""
    return f"{session.platform}:{session.worker_id}:{session.external_id}:{purpose}"
