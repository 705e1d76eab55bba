"""Budgets and the ledger: reserved and spent money in whole cents, each move booked once.

The database keeps a budget's counters within the budget; each change is a ledger entry with a unique key, written
in the same transaction. So a repeated booking changes nothing, two publishers cannot both take the last cent, and
the counters can be recomputed from the entries. Call what books inside a transaction.

    reserved = the price of held slots of external HITs + reservations of open calls
    spent    = rewards of approved sessions + bonuses, fees included
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Sum

from annotation.models import Budget, CrowdCall, CrowdSession, LedgerEntry, Publication
from common.errors import QuorumError, WrongState
from judgments.models import Study
from judgments.studies.log import note_event


class OverBudget(QuorumError):
    """The booking exceeds the budget; nothing was booked."""

    status = 409
    title = "Beyond the budget"


def spell_cents(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def budget_of(study: Study, place: str) -> Budget:
    """Return the study's budget at a place; create an empty one if needed."""
    return Budget.objects.get_or_create(study=study, place=place)[0]


@transaction.atomic
def set_budget(*, study: Study, place: str, cents: int, by: User | None = None, why: str = "") -> Budget:
    """Set the study's budget."""
    budget = budget_of(study, place)
    if cents == budget.budget_cents:
        return budget
    room = Budget.objects.filter(pk=budget.pk).annotate(taken=F("reserved_cents") + F("spent_cents"))
    if not room.filter(taken__lte=cents).update(budget_cents=cents):
        budget.refresh_from_db()
        raise WrongState(
            f"The budget of study {study.slug!r} stays {spell_cents(budget.budget_cents)}: "
            f"{spell_cents(budget.spent_cents)} are spent and {spell_cents(budget.reserved_cents)} reserved."
        )
    note_event(
        study=study,
        what="budget",
        words=f"The budget at {place} is {spell_cents(cents)}, before it was {spell_cents(budget.budget_cents)}."
        + (f" {why}" if why else ""),
        by=by,
        place=place,
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
) -> bool:
    """Move money within the caller's transaction. Return False if this key was booked before.

    Raises:
        OverBudget: the sum would exceed the budget; nothing was booked.
    """
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
            )
            _move(budget, reserved, spent)
    except IntegrityError:
        if not LedgerEntry.objects.filter(key=key).exists():
            raise
        return False
    return True


def _move(budget: Budget, reserved: int, spent: int) -> None:
    rows = Budget.objects.filter(pk=budget.pk)
    if reserved + spent > 0:
        rows = rows.filter(budget_cents__gte=F("reserved_cents") + F("spent_cents") + reserved + spent)
    if rows.update(reserved_cents=F("reserved_cents") + reserved, spent_cents=F("spent_cents") + spent):
        return
    budget.refresh_from_db()
    raise OverBudget(
        f"This costs {spell_cents(reserved + spent)}; of the budget of study {budget.study.slug!r}, "
        f"{spell_cents(budget.budget_cents)}, {spell_cents(budget.left_cents)} are left: nothing was booked."
    )


def reserve_for_call(*, call: CrowdCall, cents: int) -> None:
    if cents and not call.reserved_cents and _book_for(call, "reserve", cents):
        _keep(call, cents)


def _book_for(call: CrowdCall, what: str, reserved: int) -> bool:
    """Book a change of a call's reservation; a retried call reserves again, so the entry's number is in its key."""
    number = LedgerEntry.objects.filter(call=call, what=what).count() + 1
    budget = budget_of(call.study, call.place)
    return book(budget=budget, key=f"{what}:{call.key}:{number}", what=what, reserved=reserved, call=call)


def _keep(call: CrowdCall, cents: int) -> None:
    CrowdCall.objects.filter(pk=call.pk).update(reserved_cents=cents)
    call.reserved_cents = cents


def release_call(*, call: CrowdCall) -> None:
    if call.reserved_cents:
        _book_for(call, "release", -call.reserved_cents)
        _keep(call, 0)


def spend_call(*, call: CrowdCall) -> None:
    """Turn the reservation of a paid bonus into spending."""
    budget = budget_of(call.study, call.place)
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
    _keep(call, 0)


def hold_places(*, call: CrowdCall, publication: Publication, places: int) -> None:
    """Turn a call's reservation into held slots and release the rest."""
    Publication.objects.filter(pk=publication.pk).update(held=F("held") + places)
    more = call.reserved_cents - places * publication.price_cents
    if more > 0:
        _book_for(call, "release", -more)
    _keep(call, 0)


def release_places(*, publication: Publication, places: int) -> bool:
    """Release the money of slots that nobody will fill. Return False if fewer are held."""
    locked = Publication.objects.select_for_update().get(pk=publication.pk)
    if places <= 0 or locked.held < places:
        return False
    number = LedgerEntry.objects.filter(publication=locked, what="release").count() + 1
    book(
        budget=budget_of(locked.study, locked.place),
        key=f"unfilled:{locked.token}:{number}",
        what="release",
        reserved=-places * locked.price_cents,
        publication=locked,
    )
    return bool(Publication.objects.filter(pk=locked.pk).update(held=F("held") - places))


def pay_session(*, session: CrowdSession) -> bool:
    """Spend the price of an approved session. Return False if it was paid.

    It comes from the external HIT's held slots or, if those were released, from the rest of the budget.

    Raises:
        OverBudget: the slots were released, and nothing is left.
    """
    if _is_booked(_key(session, "reward")):
        return False
    publication = session.publication
    rejected_before = session.booked == CrowdSession.Booked.RELEASED
    held = 0 if rejected_before else _take_place(publication)
    return book(
        budget=budget_of(session.study, session.place),
        key=_key(session, "reward"),
        what="reward",
        reserved=-publication.price_cents * held,
        spent=publication.price_cents,
        publication=publication,
        session=session,
    )


def unpay_session(*, session: CrowdSession) -> bool:
    """Release the price of a rejected session. Return False if it was released."""
    publication = session.publication
    if _is_booked(_key(session, "rejected")) or not _take_place(publication):
        return False
    return book(
        budget=budget_of(session.study, session.place),
        key=_key(session, "rejected"),
        what="release",
        reserved=-publication.price_cents,
        publication=publication,
        session=session,
    )


def _is_booked(key: str) -> bool:
    return LedgerEntry.objects.filter(key=key).exists()


def _take_place(publication: Publication) -> int:
    return Publication.objects.filter(pk=publication.pk, held__gt=0).update(held=F("held") - 1)


def _key(session: CrowdSession, what: str) -> str:
    return f"{session.place}:{session.worker_id}:{session.external_id}:{what}"


def ledger_sums(budget: Budget) -> tuple[int, int]:
    """Return reserved and spent, recomputed from the ledger."""
    sums = LedgerEntry.objects.filter(budget=budget).aggregate(
        reserved=Sum("reserved_cents"), spent=Sum("spent_cents")
    )
    return sums["reserved"] or 0, sums["spent"] or 0


def reserved_cents(budget: Budget) -> int:
    """Return reserved, recomputed from held slots and open calls."""
    here = {"study": budget.study, "place": budget.place}
    places = Publication.objects.filter(**here, held__gt=0).aggregate(
        kept=Sum(F("held") * (F("reward_cents") + F("fee_cents")))
    )["kept"]
    calls = CrowdCall.objects.filter(**here).aggregate(kept=Sum("reserved_cents"))["kept"]
    return (places or 0) + (calls or 0)
