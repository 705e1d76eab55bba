"""Invariants of budgets, of the ledger, and of paid work. Each function yields a sentence for each wrong row."""

from __future__ import annotations

from django.db.models import Count, Exists, F, OuterRef, Q, Sum

from annotation.models import Assignment, Budget, CrowdCall, CrowdSession, LedgerEntry, Publication, RawId
from annotation.money.ledger import ledger_sums, reserved_cents
from common.amounts import spell_cents
from evaluation.data.invariants.sentences import ROWS_PER_BATCH, Sentences, sentences_about

Status = CrowdSession.Status
Booked = CrowdSession.Booked


def budgets_are_what_their_ledger_says() -> Sentences:
    for budget in Budget.objects.select_related("study").order_by("study__slug", "platform"):
        where = f"Study {budget.study.slug}: the budget at {budget.platform}"

        def amount(cents: int, currency: str = budget.currency) -> str:
            return spell_cents(cents, currency)

        reserved_sum, spent_sum = ledger_sums(budget)
        if (reserved_sum, spent_sum) != (budget.reserved_cents, budget.spent_cents):
            yield (
                f"{where} says {amount(budget.reserved_cents)} reserved and {amount(budget.spent_cents)} "
                f"spent, its ledger {amount(reserved_sum)} and {amount(spent_sum)}."
            )
        committed_cents = budget.reserved_cents + budget.spent_cents
        # Each commitment is the part that one account ordered.
        account_cents = budget.commitments.aggregate(cents=Sum("cents"))["cents"] or 0
        if account_cents != committed_cents:
            yield f"{where} has {amount(committed_cents)} committed, and its accounts {amount(account_cents)}."
        if budget.over_cents != max(0, committed_cents - budget.budget_cents):
            yield f"{where} is exceeded by another sum than the {amount(budget.over_cents)} that it says."
        expected_cents = reserved_cents(budget)
        if expected_cents != budget.reserved_cents:
            yield (
                f"{where} has {amount(budget.reserved_cents)} reserved, and {amount(expected_cents)} are kept by held "
                "slots and calls."
            )


def money_is_kept_within_a_budget() -> Sentences:
    budgets = Budget.objects.filter(study=OuterRef("study"), platform=OuterRef("platform"))
    publications = Publication.objects.filter(Q(held_slots__gt=0) | Q(screen_outs_held__gt=0))
    for rows in (publications, CrowdCall.objects.filter(reserved_cents__gt=0)):
        wrong_rows = rows.exclude(Exists(budgets)).values_list("study__slug", "pk")
        for slug, pk in wrong_rows.iterator(ROWS_PER_BATCH):
            name = rows.model._meta.verbose_name
            yield f"Study {slug}: {name} {pk} keeps money, and the study has no budget there."


def decided_sessions_are_booked() -> Sentences:
    """Check that approved work has one ledger entry with its price, and that rejected work was refunded."""
    sessions = CrowdSession.objects.all()
    wrong_rows = sessions.exclude(
        Q(status=Status.APPROVED, booked=Booked.SPENT)
        | Q(status=Status.REJECTED, booked=Booked.RELEASED)
        | (~Q(status__in=[Status.APPROVED, Status.REJECTED]) & Q(booked=Booked.NOTHING))
    )
    for slug, pk, status, booked in wrong_rows.values_list("study__slug", "pk", "status", "booked").iterator(
        ROWS_PER_BATCH
    ):
        yield f"Study {slug}: session {pk} is {status}, and its booking says {booked or 'nothing'!r}."
    price = F("publication__reward_cents") + F("publication__fee_cents")
    paid_sessions = sessions.filter(booked=Booked.SPENT).annotate(
        count=Count("entries", filter=Q(entries__what="reward", entries__spent_cents=price))
    )
    yield from sentences_about(
        paid_sessions.exclude(count=1), "session {pk} is paid, but its price is in the ledger {count} times."
    )
    unpaid_entries = LedgerEntry.objects.filter(what="reward").exclude(session__booked=Booked.SPENT)
    yield from sentences_about(
        unpaid_entries, "the ledger's {key} pays a session that is not approved.", study="budget__study"
    )


def bonuses_that_are_done_are_spent() -> Sentences:
    calls = CrowdCall.objects.filter(kind="bonus", state=CrowdCall.State.DONE)
    wrong_calls = calls.annotate(count=Count("entries", filter=Q(entries__what="bonus"))).exclude(count=1)
    yield from sentences_about(wrong_calls, "the bonus {key} was paid, but is in the ledger {count} times.")
    unpaid_entries = LedgerEntry.objects.filter(what="bonus").exclude(call__state=CrowdCall.State.DONE)
    yield from sentences_about(
        unpaid_entries, "the ledger's {key} pays a bonus that was not paid.", study="budget__study"
    )


def unpublished_hits_hold_no_money() -> Sentences:
    """Check that planned, withdrawn and finished publications hold no money, and that dropped calls reserve none."""
    idle_states = [Publication.State.PLANNED, Publication.State.WITHDRAWN, Publication.State.FINISHED]
    rows = Publication.objects.filter(state__in=idle_states)
    for column, name in (("held_slots", "slots"), ("screen_outs_held", "screen-outs")):
        problem = f"publication {{pk}} is {{state}}, and holds {{{column}}} {name}."
        yield from sentences_about(rows.filter(**{f"{column}__gt": 0}), problem)
    dropped_calls = CrowdCall.objects.filter(state=CrowdCall.State.DROPPED, reserved_cents__gt=0)
    yield from sentences_about(dropped_calls, "call {key} was dropped, and keeps money.")


def paid_work_stays_in_its_study_and_platform() -> Sentences:
    in_same_place = Q(publication__study=F("study"), publication__platform=F("platform"))
    publications = Publication.objects.filter(
        ~Q(platform=F("study__platform")) | (Q(hit__isnull=False) & ~Q(hit__study=F("study")))
    )
    yield from sentences_about(
        publications, "publication {pk} is of another place, or its HIT of another study."
    )
    sessions = CrowdSession.objects.exclude(
        in_same_place, worker__platform=F("platform"), study__platform=F("platform")
    )
    yield from sentences_about(
        sessions, "session {pk} has a publication or worker of another study or place."
    )
    calls = CrowdCall.objects.filter(
        ~Q(platform=F("study__platform"))
        | (Q(publication__isnull=False) & ~in_same_place)
        | (Q(session__isnull=False) & ~Q(session__study=F("study"), session__platform=F("platform")))
    )
    yield from sentences_about(
        calls, "call {key} is of another place, or about a publication or session of another study."
    )
    entries = LedgerEntry.objects.filter(publication__isnull=False).exclude(
        publication__study=F("budget__study"), publication__platform=F("budget__platform")
    )
    yield from sentences_about(
        entries, "the ledger's {key} is about a publication of another study or place.", study="budget__study"
    )
    work = Assignment.objects.filter(session__isnull=False)
    yield from sentences_about(
        work.exclude(session__study=F("study"), session__worker=F("worker")),
        "assignment {pk} belongs to a session of another study or worker.",
    )
    raw_ids = RawId.objects.filter(session__isnull=False).exclude(session__worker=F("worker"))
    yield from sentences_about(
        raw_ids, "raw id {pk} names another worker than its session.", study="session__study"
    )
