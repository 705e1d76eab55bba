"""The share of a study's seats that one address may hold.

A seat is a page of work that somebody holds, or a place at a panel. Of the address a keyed hash is stored, another one
in each study, apart from the answers; ``forget_addresses`` deletes it minutes after the seat is free.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection
from django.db.models import CharField, Count, DateTimeField, OuterRef, Q, QuerySet, Subquery, Sum
from django.utils import timezone

from annotation.crowds.people import installation_mark
from annotation.models import Assignment, CrowdSession, Seat
from common import rate_limits
from common.prepared import PreparedQuery, query_parameter
from common.rows import insert_rows
from judgments.models import HIT, Study
from judgments.studies.studies import design_of

SEAT_LOCK = 0x5EA7  # first key of the advisory locks; the second is the address's
LOCK = "SELECT pg_advisory_xact_lock(%s, %s)"
LEASED_STATES = ("reserved", "accepted")
FEWEST_SEATS = 5  # of an address in any study: a household, a small office
COOLING = timedelta(
    minutes=5
)  # a seat that was given up counts so long, or it could be taken again and again
# the server's own address: a trial, or a proxy that names no visitors; never refused, but it makes room as others do
HERE = ("127.", "::/64")
SHORTEST_PAUSE = timedelta(minutes=1)
ITEMS_IN_A_PAUSE = 3


def longest_pause(study: Study) -> timedelta:
    """Return the time without an answer after which somebody is no longer at work."""
    return max(SHORTEST_PAUSE, ITEMS_IN_A_PAUSE * timedelta(seconds=design_of(study).seconds_per_unit))


def lock_address(study: Study) -> None:
    """Let one transaction at a time take seats from an address. Call it before rows are locked."""
    if connection.vendor == "postgresql" and (mark := _mark(study, besides=HERE)):
        with connection.cursor() as cursor:
            cursor.execute(LOCK, [SEAT_LOCK, int(mark[:7], 16)])


def may_take_seat(study: Study, *, unfinished: int | None = None) -> bool:
    """Return whether the visitor's address holds less than its share.

    Args:
        unfinished: the seats that are open or held; if None, those of pages of work.
    """
    mark = _mark(study, besides=HERE)
    if not mark:
        return True
    now = timezone.now()
    taken = _TAKEN.first(study=study.pk, address=mark, now=now, recently=now - COOLING) or 0
    if taken < FEWEST_SEATS:
        return True
    seats = _unfinished_pages(study) if unfinished is None else unfinished
    return taken < design_of(study).access.address_share * seats


def note_seat(study: Study, seat: Assignment | CrowdSession) -> None:
    """Note that the visitor's address took a seat."""
    if mark := _mark(study):
        holder = "assignment_id" if isinstance(seat, Assignment) else "session_id"
        row = (study.pk, mark, seat.pk, timezone.now())
        insert_rows(Seat, ("study_id", "address", holder, "taken_at"), [row])


def people_beside(holder: str) -> Subquery:
    """Count the people with seats at the address of a row's seat; null if no address is known.

    Args:
        holder: what the row is: "assignment" or "session".
    """
    now = timezone.now()
    address = Seat.objects.filter(**{holder: OuterRef(OuterRef("pk"))}).values("address")[:1]
    beside = Seat.objects.filter(_counts(now, now - COOLING), study=OuterRef("study"), address=address)
    people = beside.order_by().values("address").annotate(n=Count(f"{holder}__worker", distinct=True))
    return Subquery(people.values("n"))


def forget_addresses() -> int:
    """Delete the marks of seats that no longer count; return how many."""
    now = timezone.now()
    counting = Seat.objects.filter(_counts(now, now - COOLING))
    return Seat.objects.exclude(pk__in=counting.values("pk")).delete()[0]


def _mark(study: Study, *, besides: tuple[str, ...] = ()) -> str:
    """Return the mark of the visitor's address in a study; "" if it may hold all seats, or begins as ``besides``."""
    address = rate_limits.visitor()
    if not address or address.startswith(besides) or design_of(study).access.address_share == 1:
        return ""
    return installation_mark("seat", str(study.pk), address)[:32]


def _counts(now: datetime, recently: datetime) -> Q:
    held = Q(assignment__state__in=LEASED_STATES, assignment__expires_at__gt=now)
    ended = ["returned", "expired", "timed-out"]
    given_up = Q(assignment__state__in=ended) | Q(session__status__in=ended)
    return held | Q(session__status="working") | (given_up & Q(taken_at__gt=recently))


def _taken_seats() -> QuerySet[Seat, int]:
    now, recently = (query_parameter(name, DateTimeField()) for name in ("now", "recently"))
    of_address = {"study": query_parameter("study"), "address": query_parameter("address", CharField())}
    taken = Seat.objects.filter(_counts(now, recently), **of_address).order_by().values("study")
    return taken.annotate(n=Count("pk")).values_list("n", flat=True)


_TAKEN: PreparedQuery[int] = PreparedQuery(_taken_seats)


def _unfinished_pages(study: Study) -> int:
    slots = HIT.objects.filter(study=study).aggregate(n=Sum("open_slots"))["n"] or 0
    return slots + Assignment.objects.filter(study=study, state__in=LEASED_STATES).count()
