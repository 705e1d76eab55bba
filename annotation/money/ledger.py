"""What a study may cost, what is reserved, what is spent: in whole cents, each move booked once.

A budget's row holds counters that the database keeps within the budget; each change is an entry of the ledger with a
key that the database lets stand once, written in the same transaction. So a repeated booking changes nothing, two
publishers at once cannot both have the last cent, and the counters can be computed again from the entries.

    reserved = the price of all held places of publications + what calls under way keep
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
    """The move would go beyond what the study may cost; nothing was booked."""

    status = 409
    title = "Beyond the budget"


def spell_cents(cents: int) -> str:
    """An amount for people: 12.30."""
    return f"{cents // 100}.{cents % 100:02d}"


def budget_of(study: Study, place: str) -> Budget:
    """The study's budget at a place, empty where none was set; within the caller's transaction."""
    return Budget.objects.get_or_create(study=study, place=place)[0]


@transaction.atomic
def set_budget(*, study: Study, place: str, cents: int, by: User | None = None, why: str = "") -> Budget:
    """What the study may cost from now on.

    Raises:
        WrongState: more than that is spent or reserved already.
    """
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
    """Move money, within the caller's transaction; False where this was booked before.

    Args:
        key: what it is for, such that the same thing has the same key.
        reserved, spent: changes in cents, of either sign.

    Raises:
        OverBudget: reserved and spent would be more than the budget; nothing was booked.
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
    """Keep money for a call that was just written, within the caller's transaction.

    Raises:
        OverBudget.
    """
    if not cents or call.reserved_cents:
        return
    budget = budget_of(call.study, call.place)
    if book(budget=budget, key=_turn(call, "reserve"), what="reserve", reserved=cents, call=call):
        CrowdCall.objects.filter(pk=call.pk).update(reserved_cents=cents)
        call.reserved_cents = cents


def _turn(call: CrowdCall, what: str) -> str:
    """A call that was parked and is tried again keeps its money anew: the how-manyeth time is part of the key."""
    before = LedgerEntry.objects.filter(call=call, what=what).count()
    return f"{what}:{call.key}:{before + 1}"


def release_call(*, call: CrowdCall) -> None:
    """Give back what a call kept that will never be carried out, within the caller's transaction."""
    if not call.reserved_cents:
        return
    budget = budget_of(call.study, call.place)
    book(budget=budget, key=_turn(call, "release"), what="release", reserved=-call.reserved_cents, call=call)
    CrowdCall.objects.filter(pk=call.pk).update(reserved_cents=0)
    call.reserved_cents = 0


def spend_call(*, call: CrowdCall) -> None:
    """A bonus was paid: what its call kept is spent; within the caller's transaction."""
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
    CrowdCall.objects.filter(pk=call.pk).update(reserved_cents=0)
    call.reserved_cents = 0


def hold_places(*, call: CrowdCall, publication: Publication, places: int) -> None:
    """Places that a call paid for are there: its reservation becomes theirs, and what it kept for more is free again;
    within the caller's transaction."""
    Publication.objects.filter(pk=publication.pk).update(held=F("held") + places)
    more = call.reserved_cents - places * publication.price_cents
    if more > 0:
        budget = budget_of(call.study, call.place)
        book(budget=budget, key=_turn(call, "release"), what="release", reserved=-more, call=call)
    CrowdCall.objects.filter(pk=call.pk).update(reserved_cents=0)
    call.reserved_cents = 0


def release_places(*, publication: Publication, places: int, key: str) -> bool:
    """Give back what places that nobody will fill keep, within the caller's transaction; False where this was done
    before, or fewer are held.

    Args:
        key: of this return; a repeated one changes nothing.
    """
    locked = Publication.objects.select_for_update().get(pk=publication.pk)
    if places <= 0 or locked.held < places:
        return False
    if not book(
        budget=budget_of(locked.study, locked.place),
        key=key,
        what="release",
        reserved=-places * locked.price_cents,
        publication=locked,
    ):
        return False
    return bool(Publication.objects.filter(pk=locked.pk).update(held=F("held") - places))


def pay_session(*, session: CrowdSession) -> bool:
    """A session was approved: its price is spent, out of what its publication holds, or, where that was given back
    before, out of what is left; within the caller's transaction. False where it was paid before.

    Payments are keyed by place, worker and the crowd's id of the session.

    Raises:
        OverBudget: it was given back before, and nothing is left.
    """
    if _is_booked(_key(session, "reward")):
        return False
    publication = session.publication
    price = publication.price_cents
    rejected_before = session.booked == CrowdSession.Booked.RELEASED
    held = 0 if rejected_before else _take_place(publication)
    return book(
        budget=budget_of(session.study, session.place),
        key=_key(session, "reward"),
        what="reward",
        reserved=-price * held,
        spent=price,
        publication=publication,
        session=session,
    )


def unpay_session(*, session: CrowdSession) -> bool:
    """A session was rejected: what its place kept is free again, within the caller's transaction. False where it was
    before."""
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
    """Reserved and spent, computed again from the ledger."""
    sums = LedgerEntry.objects.filter(budget=budget).aggregate(
        reserved=Sum("reserved_cents"), spent=Sum("spent_cents")
    )
    return sums["reserved"] or 0, sums["spent"] or 0


def kept_cents(budget: Budget) -> int:
    """Reserved, computed again from what keeps it: held places, and calls under way."""
    here = {"study": budget.study, "place": budget.place}
    places = Publication.objects.filter(**here, held__gt=0).aggregate(
        kept=Sum(F("held") * (F("reward_cents") + F("fee_cents")))
    )["kept"]
    calls = CrowdCall.objects.filter(**here).aggregate(kept=Sum("reserved_cents"))["kept"]
    return (places or 0) + (calls or 0)
