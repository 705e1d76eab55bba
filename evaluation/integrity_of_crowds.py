"""The invariants of paid work at crowds: books that add up, and rows of one study and place that stay together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.db.models import Count, Exists, F, OuterRef, Q

from annotation.models import Assignment, Budget, CrowdCall, CrowdSession, LedgerEntry, Publication, RawId
from annotation.services.money import kept_cents, ledger_sums, spell_cents

ROWS_AT_ONCE = 2_000
Sentences = Iterator[str]
Status, Booked = CrowdSession.Status, CrowdSession.Booked


def budgets_are_what_their_ledger_says() -> Sentences:
    """A budget's counters are the sums of its ledger; what is reserved is kept by held places and by calls."""
    for budget in Budget.objects.select_related("study").order_by("study__slug", "place"):
        where = f"Study {budget.study.slug}: the budget at {budget.place}"
        reserved, spent = ledger_sums(budget)
        if (reserved, spent) != (budget.reserved_cents, budget.spent_cents):
            yield (
                f"{where} says {spell_cents(budget.reserved_cents)} reserved and {spell_cents(budget.spent_cents)} "
                f"spent, its ledger {spell_cents(reserved)} and {spell_cents(spent)}."
            )
        kept = kept_cents(budget)
        if kept != budget.reserved_cents:
            yield (
                f"{where} has {spell_cents(budget.reserved_cents)} reserved, and {spell_cents(kept)} are kept by held "
                "places and calls."
            )


def money_is_kept_within_a_budget() -> Sentences:
    """Where places are held or calls keep money, there is a budget."""
    own = Budget.objects.filter(study=OuterRef("study"), place=OuterRef("place"))
    for rows in (Publication.objects.filter(held__gt=0), CrowdCall.objects.filter(reserved_cents__gt=0)):
        for slug, pk in rows.exclude(Exists(own)).values_list("study__slug", "pk").iterator(ROWS_AT_ONCE):
            name = rows.model._meta.verbose_name
            yield f"Study {slug}: {name} {pk} keeps money, and the study has no budget there."


def decided_sessions_are_booked() -> Sentences:
    """Approved work is spent, by one entry of its price; rejected work gave its price back; nothing else did."""
    rows = CrowdSession.objects.all()
    wrong = rows.exclude(
        Q(status=Status.APPROVED, booked=Booked.SPENT)
        | Q(status=Status.REJECTED, booked=Booked.RELEASED)
        | (~Q(status__in=[Status.APPROVED, Status.REJECTED]) & Q(booked=Booked.NOTHING))
    )
    for slug, pk, status, booked in wrong.values_list("study__slug", "pk", "status", "booked").iterator(
        ROWS_AT_ONCE
    ):
        yield f"Study {slug}: session {pk} is {status}, and its booking says {booked or 'nothing'!r}."
    price = F("publication__reward_cents") + F("publication__fee_cents")
    paid = rows.filter(booked=Booked.SPENT).annotate(
        count=Count("entries", filter=Q(entries__what="reward", entries__spent_cents=price))
    )
    for slug, pk, count in (
        paid.exclude(count=1).values_list("study__slug", "pk", "count").iterator(ROWS_AT_ONCE)
    ):
        yield f"Study {slug}: session {pk} is paid, and its price stands {count} times in the ledger."
    unpaid = LedgerEntry.objects.filter(what="reward").exclude(session__booked=Booked.SPENT)
    for slug, key in unpaid.values_list("budget__study__slug", "key").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: the ledger's {key} pays a session that is not approved."


def bonuses_that_are_done_are_spent() -> Sentences:
    """By one entry each."""
    done = CrowdCall.objects.filter(kind="bonus", state=CrowdCall.State.DONE)
    counted = done.annotate(count=Count("entries", filter=Q(entries__what="bonus"))).exclude(count=1)
    for slug, key, count in counted.values_list("study__slug", "key", "count").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: the bonus {key} was paid, and stands {count} times in the ledger."
    early = LedgerEntry.objects.filter(what="bonus").exclude(call__state=CrowdCall.State.DONE)
    for slug, key in early.values_list("budget__study__slug", "key").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: the ledger's {key} pays a bonus that was not paid."


def what_is_not_up_holds_no_money() -> Sentences:
    """Places are held from being put up until all is decided; a call that is dropped keeps nothing."""
    idle = [Publication.State.PLANNED, Publication.State.WITHDRAWN, Publication.State.FINISHED]
    rows = Publication.objects.filter(state__in=idle, held__gt=0)
    for slug, pk, state, held in rows.values_list("study__slug", "pk", "state", "held"):
        yield f"Study {slug}: publication {pk} is {state}, and holds {held} places."
    dropped = CrowdCall.objects.filter(state=CrowdCall.State.DROPPED, reserved_cents__gt=0)
    for slug, key in dropped.values_list("study__slug", "key"):
        yield f"Study {slug}: call {key} was dropped, and keeps money."


def paid_work_stays_in_its_study_and_place() -> Sentences:
    """Publications, sessions, calls, entries and pages of work name the same study, place and worker."""
    at_home = Q(publication__study=F("study"), publication__place=F("place"))
    publications = Publication.objects.filter(
        ~Q(place=F("study__place")) | (Q(hit__isnull=False) & ~Q(hit__study=F("study")))
    )
    for slug, pk in publications.values_list("study__slug", "pk").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: publication {pk} is of another place, or its HIT of another study."
    sessions = CrowdSession.objects.exclude(at_home, worker__place=F("place"), study__place=F("place"))
    for slug, pk in sessions.values_list("study__slug", "pk").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: session {pk} has a publication or worker of another study or place."
    calls = CrowdCall.objects.filter(
        ~Q(place=F("study__place"))
        | (Q(publication__isnull=False) & ~at_home)
        | (Q(session__isnull=False) & ~Q(session__study=F("study"), session__place=F("place")))
    )
    for slug, key in calls.values_list("study__slug", "key").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: call {key} is of another place, or about a publication or session of another study."
    entries = LedgerEntry.objects.filter(publication__isnull=False).exclude(
        publication__study=F("budget__study"), publication__place=F("budget__place")
    )
    for slug, key in entries.values_list("budget__study__slug", "key").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: the ledger's {key} is about a publication of another study or place."
    pages = Assignment.objects.filter(session__isnull=False)
    for slug, page in (
        pages.exclude(session__study=F("study"), session__worker=F("worker"))
        .values_list("study__slug", "pk")
        .iterator(ROWS_AT_ONCE)
    ):
        yield f"Study {slug}: assignment {page} belongs to a session of another study or worker."
    ids = RawId.objects.filter(session__isnull=False).exclude(session__worker=F("worker"))
    for slug, pk in ids.values_list("session__study__slug", "pk"):
        yield f"Study {slug}: raw id {pk} names another worker than its session."


CROWD_CHECKS: tuple[Callable[[], Sentences], ...] = (
    budgets_are_what_their_ledger_says,
    money_is_kept_within_a_budget,
    decided_sessions_are_booked,
    bonuses_that_are_done_are_spent,
    what_is_not_up_holds_no_money,
    paid_work_stays_in_its_study_and_place,
)
