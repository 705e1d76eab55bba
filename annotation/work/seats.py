"""The seats of network addresses, and the locks under which seats are taken.

A seat is a page of work that somebody holds, or a session at a panel. One address may hold a limited share of a
study's seats, so that one person with many names cannot take all the work. Only a keyed hash of the address is
stored. It is different in each study and stored apart from the answers; ``forget_addresses`` deletes it minutes after
the seat is free.

Transactions that assign or accept work share the pause lock of a study. A transaction that pauses or closes the study
takes the lock exclusively: it waits until the running transactions end, and others wait until it ends.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection
from django.db.models import CharField, Count, DateTimeField, OuterRef, Q, QuerySet, Subquery, Sum
from django.utils import timezone

from annotation.crowds.people import keyed_hash
from annotation.models import Assignment, CrowdSession, Seat
from annotation.models.assignments import LEASED_STATES
from common import rate_limits
from common.rows.prepared import PreparedQuery, query_parameter
from common.rows.writing import insert_rows
from judgments.models import HIT, Study
from judgments.studies.designs import design_of

PAUSE_LOCK = 0x51D0  # first key of a study's advisory lock; the second key is the study's id
# first key of an address's advisory lock; the second key comes from the hash of the address
SEAT_LOCK = 0x5EA7
LOCK_SHARED = "SELECT pg_advisory_xact_lock_shared(%s, %s)"
LOCK_EXCLUSIVE = "SELECT pg_advisory_xact_lock(%s, %s)"
SEATS_ALWAYS_ALLOWED = 5  # seats that an address may hold in any study, for a household or a small office
# after it was taken, a seat counts for this time even if it is returned, so that seats cannot be taken repeatedly
RELEASED_SEAT_PERIOD = timedelta(minutes=5)
HASH_DIGITS = 32  # hexadecimal digits of the hash of an address
# Beginnings of the addresses of the server itself; ::/48 is the network of ::1. Visitors have such an address in a
# trial, or behind a proxy that hides theirs. The limit of seats does not apply to it. Its seats are stored all the
# same, since people without answers lose their leases earlier if several work at one address (``silent_leases``).
LOCAL_NETWORKS = ("127.", "::/48")


def share_pause_lock(study: Study) -> None:
    """Take a share of the pause lock, and lock the visitor's address.

    Call it before checking whether the study is open.
    """
    _take_advisory_lock(LOCK_SHARED, PAUSE_LOCK, study.pk % 2**31)
    lock_address(study)


def take_pause_lock(study: Study) -> None:
    """Take the pause lock exclusively, until the transaction ends."""
    _take_advisory_lock(LOCK_EXCLUSIVE, PAUSE_LOCK, study.pk % 2**31)


def _take_advisory_lock(statement: str, first_key: int, second_key: int) -> None:
    """Take a PostgreSQL advisory lock until the transaction ends. SQLite needs none, since it has only one writer.

    Keys have 31 bits and a sign. If two studies or addresses share their keys, one only waits for the other.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(statement, [first_key, second_key])


def lock_address(study: Study) -> None:
    """Let one transaction at a time take seats for the address. Call it before locking rows, to avoid deadlocks."""
    if connection.vendor != "postgresql":
        return
    address_hash = _address_hash(study, exempt_prefixes=LOCAL_NETWORKS)
    if address_hash:
        _take_advisory_lock(LOCK_EXCLUSIVE, SEAT_LOCK, int(address_hash[:7], 16))  # 28 of the key's 31 bits


def may_take_seat(study: Study, *, seat_count: int | None = None) -> bool:
    """Return whether the visitor's network address holds less than its share of the study's seats.

    Args:
        seat_count: the number of the study's seats, free or held; None for the number of unfinished pages of work.
    """
    address_hash = _address_hash(study, exempt_prefixes=LOCAL_NETWORKS)
    if not address_hash:
        return True
    # Count the seats of the whole site. The first half of the hash of an IPv6 address is that of its /48 network; the
    # first half of the hash of an IPv4 address is long enough to be unique.
    site_hash = address_hash[: HASH_DIGITS // 2]
    now = timezone.now()
    taken_count = _TAKEN_SEATS.first(
        study=study.pk,
        first=site_hash.ljust(HASH_DIGITS, "0"),
        last=site_hash.ljust(HASH_DIGITS, "f"),
        now=now,
        since=now - RELEASED_SEAT_PERIOD,
    )
    if taken_count is None or taken_count < SEATS_ALWAYS_ALLOWED:
        return True
    if seat_count is None:
        seat_count = _count_unfinished_pages(study)
    return taken_count < design_of(study).access.address_share * seat_count


def note_seat(study: Study, holder: Assignment | CrowdSession) -> None:
    """Store that the visitor's address holds a seat, by an assignment or a session."""
    if address_hash := _address_hash(study):
        column = "assignment_id" if isinstance(holder, Assignment) else "session_id"
        row = (study.pk, address_hash, holder.pk, timezone.now())
        insert_rows(Seat, ("study_id", "address", column, "taken_at"), [row])


def people_at_same_address(relation: str) -> Subquery:
    """Return a subquery for the number of people with seats at the same address as a row's seat.

    For IPv6, addresses with the same /64 count as one. The value is null if no address is stored.

    Args:
        relation: the field of ``Seat`` for the rows: "assignment" or "session".
    """
    now = timezone.now()
    # two OuterRefs, since this subquery is within ``same_address``, which is within the caller's query
    address = Seat.objects.filter(**{relation: OuterRef(OuterRef("pk"))}).values("address")[:1]
    same_address = Seat.objects.filter(
        _takes_seat(now, now - RELEASED_SEAT_PERIOD), study=OuterRef("study"), address=address
    )
    people = same_address.order_by().values("address").annotate(n=Count(f"{relation}__worker", distinct=True))
    return Subquery(people.values("n"))


def forget_addresses() -> int:
    """Delete the seats that no longer count, with the hashes of their addresses; return their number."""
    now = timezone.now()
    counted_seats = Seat.objects.filter(_takes_seat(now, now - RELEASED_SEAT_PERIOD))
    return Seat.objects.exclude(pk__in=counted_seats.values("pk")).delete()[0]


def _address_hash(study: Study, *, exempt_prefixes: tuple[str, ...] = ()) -> str:
    """Return the hash of the visitor's address in a study; "" if no limit applies to the address.

    No limit applies if an address may hold all seats, or if it begins with one of ``exempt_prefixes``. The hash of
    an IPv6 address begins with the hash of its /48.
    """
    networks = rate_limits.visitor_networks()  # an IPv4 address, or the /64 and the /48 of an IPv6 address
    if not networks or networks[-1].startswith(exempt_prefixes) or design_of(study).access.address_share == 1:
        return ""
    hashes = (keyed_hash("seat", str(study.pk), network) for network in reversed(networks))
    return "".join(address_hash[: HASH_DIGITS // len(networks)] for address_hash in hashes)


def _takes_seat(now: datetime, since: datetime) -> Q:
    """Return the condition that a seat counts: it is held, or it was taken after ``since`` and given up again."""
    is_leased = Q(assignment__state__in=LEASED_STATES, assignment__expires_at__gt=now)
    ended_states = ["returned", "expired", "timed-out"]
    is_given_up = Q(assignment__state__in=ended_states) | Q(session__status__in=ended_states)
    return is_leased | Q(session__status="working") | (is_given_up & Q(taken_at__gt=since))


def _make_taken_seats_query() -> QuerySet[Seat, int]:
    """Return a query for the number of seats that a range of address hashes holds in a study."""
    now, since = (query_parameter(name, DateTimeField()) for name in ("now", "since"))
    hash_range = tuple(query_parameter(name, CharField()) for name in ("first", "last"))
    seats_of_study = Seat.objects.filter(
        _takes_seat(now, since), study=query_parameter("study"), address__range=hash_range
    )
    return seats_of_study.order_by().values("study").annotate(n=Count("pk")).values_list("n", flat=True)


_TAKEN_SEATS: PreparedQuery[int] = PreparedQuery(_make_taken_seats_query)


def _count_unfinished_pages(study: Study) -> int:
    """Return the number of pages of work that are open or held."""
    slots = HIT.objects.filter(study=study).aggregate(n=Sum("open_slots"))["n"] or 0
    return slots + Assignment.objects.filter(study=study, state__in=LEASED_STATES).count()
