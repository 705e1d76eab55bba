"""Check every invariant of the stored rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from string import Formatter
from typing import Any

from django.apps import apps
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.module_loading import import_string
from pydantic import ValidationError

from annotation.models import (
    Adjudication,
    Assignment,
    Budget,
    Case,
    CrowdCall,
    CrowdSession,
    Erasure,
    Exclusion,
    Judgment,
    LedgerEntry,
    Participation,
    Publication,
    RawId,
    WrittenCaption,
)
from annotation.models.assignments import FINISHED_STATES, LIVE_STATES
from annotation.money.ledger import ledger_sums, reserved_cents
from annotation.privacy.erasing import digest_of
from annotation.privacy.retention import restored_after_erasure
from common.amounts import spell_cents
from evaluation.data.judgment_sets.blocks import changed_blocks
from evaluation.models import Analysis
from judgments.kinds import AbsentKind, Kind, installed_kind
from judgments.models import (
    HIT,
    CandidatePair,
    Caption,
    HITUnit,
    Item,
    PublishedPair,
    Study,
    SystemContent,
    SystemPair,
    Unit,
)
from judgments.studies.studies import design_of, stops_early

ROWS_AT_ONCE = 2_000
DESIGNED = Study.Source.DESIGNED
Status, Booked = CrowdSession.Status, CrowdSession.Booked
Sentences = Iterator[str]


@dataclass(frozen=True, slots=True)
class IntegrityFindings:
    """Broken invariants, and notes on stale data; one sentence each."""

    problems: list[str]
    notes: list[str]


def _sentences(rows: QuerySet[Any], problem: str, *, study: str = "study") -> Sentences:
    """Yield a sentence about each row.

    Args:
        problem: what is wrong; names in braces are columns.
        study: the path to the row's study.
    """
    sentence = f"Study {{{study}__slug}}: {problem}"
    columns = [name for _, name, _, _ in Formatter().parse(sentence) if name]
    for row in rows.values(*columns).iterator(ROWS_AT_ONCE):
        yield sentence.format_map(row)


def budgets_are_what_their_ledger_says() -> Sentences:
    for budget in Budget.objects.select_related("study").order_by("study__slug", "platform"):
        where = f"Study {budget.study.slug}: the budget at {budget.platform}"
        amount = partial(spell_cents, currency=budget.currency)
        reserved, spent = ledger_sums(budget)
        if (reserved, spent) != (budget.reserved_cents, budget.spent_cents):
            yield (
                f"{where} says {amount(budget.reserved_cents)} reserved and {amount(budget.spent_cents)} "
                f"spent, its ledger {amount(reserved)} and {amount(spent)}."
            )
        taken = budget.reserved_cents + budget.spent_cents
        shares = budget.commitments.aggregate(cents=Sum("cents"))["cents"] or 0
        if shares != taken:
            yield f"{where} has {amount(taken)} committed, and its accounts {amount(shares)}."
        if budget.over_cents != max(0, taken - budget.budget_cents):
            yield f"{where} is exceeded by another sum than the {amount(budget.over_cents)} that it says."
        expected = reserved_cents(budget)
        if expected != budget.reserved_cents:
            yield (
                f"{where} has {amount(budget.reserved_cents)} reserved, and {amount(expected)} are kept by held "
                "slots and calls."
            )


def money_is_kept_within_a_budget() -> Sentences:
    budgets = Budget.objects.filter(study=OuterRef("study"), platform=OuterRef("platform"))
    holding = Publication.objects.filter(Q(held_slots__gt=0) | Q(screen_outs_held__gt=0))
    for rows in (holding, CrowdCall.objects.filter(reserved_cents__gt=0)):
        for slug, pk in rows.exclude(Exists(budgets)).values_list("study__slug", "pk").iterator(ROWS_AT_ONCE):
            name = rows.model._meta.verbose_name
            yield f"Study {slug}: {name} {pk} keeps money, and the study has no budget there."


def decided_sessions_are_booked() -> Sentences:
    """Approved work is one ledger entry of its price; rejected work refunded it."""
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
    yield from _sentences(
        paid.exclude(count=1), "session {pk} is paid, but its price is in the ledger {count} times."
    )
    unpaid = LedgerEntry.objects.filter(what="reward").exclude(session__booked=Booked.SPENT)
    yield from _sentences(
        unpaid, "the ledger's {key} pays a session that is not approved.", study="budget__study"
    )


def bonuses_that_are_done_are_spent() -> Sentences:
    done = CrowdCall.objects.filter(kind="bonus", state=CrowdCall.State.DONE)
    counted = done.annotate(count=Count("entries", filter=Q(entries__what="bonus"))).exclude(count=1)
    yield from _sentences(counted, "the bonus {key} was paid, but is in the ledger {count} times.")
    early = LedgerEntry.objects.filter(what="bonus").exclude(call__state=CrowdCall.State.DONE)
    yield from _sentences(early, "the ledger's {key} pays a bonus that was not paid.", study="budget__study")


def unpublished_hits_hold_no_money() -> Sentences:
    """Slots hold money from publication to decision; dropped calls hold none."""
    idle = [Publication.State.PLANNED, Publication.State.WITHDRAWN, Publication.State.FINISHED]
    rows = Publication.objects.filter(state__in=idle)
    for column, name in (("held_slots", "slots"), ("screen_outs_held", "screen-outs")):
        problem = f"publication {{pk}} is {{state}}, and holds {{{column}}} {name}."
        yield from _sentences(rows.filter(**{f"{column}__gt": 0}), problem)
    dropped = CrowdCall.objects.filter(state=CrowdCall.State.DROPPED, reserved_cents__gt=0)
    yield from _sentences(dropped, "call {key} was dropped, and keeps money.")


def paid_work_stays_in_its_study_and_place() -> Sentences:
    at_home = Q(publication__study=F("study"), publication__platform=F("platform"))
    publications = Publication.objects.filter(
        ~Q(platform=F("study__platform")) | (Q(hit__isnull=False) & ~Q(hit__study=F("study")))
    )
    yield from _sentences(publications, "publication {pk} is of another place, or its HIT of another study.")
    sessions = CrowdSession.objects.exclude(
        at_home, worker__platform=F("platform"), study__platform=F("platform")
    )
    yield from _sentences(sessions, "session {pk} has a publication or worker of another study or place.")
    calls = CrowdCall.objects.filter(
        ~Q(platform=F("study__platform"))
        | (Q(publication__isnull=False) & ~at_home)
        | (Q(session__isnull=False) & ~Q(session__study=F("study"), session__platform=F("platform")))
    )
    yield from _sentences(
        calls, "call {key} is of another place, or about a publication or session of another study."
    )
    entries = LedgerEntry.objects.filter(publication__isnull=False).exclude(
        publication__study=F("budget__study"), publication__platform=F("budget__platform")
    )
    yield from _sentences(
        entries, "the ledger's {key} is about a publication of another study or place.", study="budget__study"
    )
    pages = Assignment.objects.filter(session__isnull=False)
    yield from _sentences(
        pages.exclude(session__study=F("study"), session__worker=F("worker")),
        "assignment {pk} belongs to a session of another study or worker.",
    )
    ids = RawId.objects.filter(session__isnull=False).exclude(session__worker=F("worker"))
    yield from _sentences(ids, "raw id {pk} names another worker than its session.", study="session__study")


def layouts_show_units_of_the_hit() -> Sentences:
    """An order names each place of the HIT at most once; flips have one side per place."""
    sizes = dict(HITUnit.objects.values_list("hit").annotate(size=Count("pk")).order_by())
    work = Assignment.objects.filter(hit__isnull=False, study__source=DESIGNED)
    names = ("study__slug", "pk", "hit_id", "order", "flips")
    for slug, pk, hit, order, flips in work.values_list(*names).iterator(ROWS_AT_ONCE):
        size = sizes.get(hit, 0)
        if len(set(order)) != len(order) or not set(order) <= set(range(size)):
            yield f"Study {slug}: the order of assignment {pk} is none of the {size} units of its HIT."
        elif flips and len(flips) != (len(order) or size):
            yield f"Study {slug}: assignment {pk} has {len(flips)} sides for {len(order) or size} units."


def revisions_replace_their_own() -> Sentences:
    revisions = Judgment.objects.filter(replaces__isnull=False)
    wrong = revisions.exclude(
        replaces__assignment=F("assignment"), replaces__unit=F("unit"), replaces__pk__lt=F("pk")
    )
    yield from _sentences(
        wrong,
        "judgment {pk} replaces judgment {replaces_id}, which is no earlier one of the same unit.",
        study="assignment__study",
    )


def blocks_say_what_the_rows_say() -> Sentences:
    for block in changed_blocks():
        yield (
            f"Study {block.study.slug}: the stored columns of {block.what} {block.first + 1} to {block.last} are not "
            "those of the rows: one of them was changed. If the rows are right, `aggregate "
            f"{block.study.slug} --from-rows` stores the columns anew."
        )


def work_that_is_held_was_never_sent() -> Sentences:
    live = Assignment.objects.filter(state__in=["reserved", "accepted"], study__source=DESIGNED)
    wrong = live.filter(Q(submitted_at__isnull=False) | Q(expires_at__isnull=True))
    yield from _sentences(wrong, "assignment {pk} is {state}, but was submitted or has no lease.")


def slots_are_saved_where_studies_stop_early() -> Sentences:
    """Slots are saved only with early stopping, or if the log says that open ones expired."""
    for study in Study.objects.filter(hits__spared__gt=0).distinct().order_by("slug"):
        if not stops_early(study) and not study.events.filter(what="slots-expired").exists():
            count = HIT.objects.filter(study=study, spared__gt=0).count()
            yield f"Study {study.slug}: {count} HITs have spared slots, but the study does not stop early."


def flags_name_their_exclusion() -> Sentences:
    cases = Case.objects.filter(exclusion__isnull=False)
    wrong = cases.exclude(exclusion__worker=F("worker"), exclusion__study=F("study"))
    yield from _sentences(wrong, "flag {pk} names the exclusion of somebody else.")
    unsaid = Case.objects.exclude(state=Case.State.OPEN).filter(Q(decided_at__isnull=True) | Q(decision=""))
    yield from _sentences(unsaid, "flag {pk} is {state}, but does not say when and why.")


def adjudications_are_of_judged_units() -> Sentences:
    rows = Adjudication.objects.exclude(unit__study=F("study"), unit__control=False)
    yield from _sentences(rows, "adjudication {pk} is of a control item or of another study's unit.")
    decided = Adjudication.objects.filter(state=Adjudication.State.DECIDED)
    for row in decided.select_related("study"):
        kind = _kind_if_readable(row.study)
        if kind is not None and row.value not in ((0, 1, 2, 3) if kind.two_sided else kind.values):
            yield f"Study {row.study.slug}: adjudication {row.pk} decides {row.value}, which its kind does not know."


def designs_can_be_read() -> Sentences:
    for study in Study.objects.select_related("dataset").order_by("slug"):
        try:
            design = design_of(study)
        except ValidationError as error:
            yield f"Study {study.slug}: its design cannot be read ({error.error_count()} errors)."
            continue
        stated = (design.slug, design.protocol, design.dataset)
        if stated != (study.slug, study.protocol, study.dataset.name):
            yield f"Study {study.slug}: its design is for {', '.join(stated)}."


def drafts_are_empty() -> Sentences:
    for study in Study.objects.filter(state=Study.State.DRAFT).order_by("slug"):
        if study.hits.exists() or study.units.exists() or study.pairs.exists():
            yield f"Study {study.slug}: a draft, but it has HITs, units or pairs."


def generated_studies_have_hits() -> Sentences:
    studies = Study.objects.filter(source=DESIGNED).exclude(state=Study.State.DRAFT)
    for slug in studies.filter(hits=None).order_by("slug").values_list("slug", flat=True):
        yield f"Study {slug}: past drafting, but it has no HIT."


def units_stand_in_one_hit() -> Sentences:
    """Each unit of a designed study is in exactly one HIT.

    Quiz items and controls withdrawn before opening are in none; controls withdrawn later stay. An arena's
    judged units are in as many as drew them.
    """
    arenas = SystemPair.objects.values("study")
    units = (
        Unit.objects.filter(study__source=DESIGNED)
        .exclude(control_kind=Unit.ControlKind.QUIZ)
        .exclude(control=False, study__in=arenas)
        .annotate(count=Count("places"))
        .exclude(
            Q(withdrawn=False, count=1)
            | Q(withdrawn=True, count=0)
            | Q(withdrawn=True, count=1, study__opened_at__isnull=False)
        )
    )
    for slug, key, withdrawn, count in units.values_list("study__slug", "key", "withdrawn", "count").iterator(
        ROWS_AT_ONCE
    ):
        expected = "0, it was withdrawn" if withdrawn else "1"
        yield f"Study {slug}: unit {key} is in {count} HITs; expected {expected}."


def rows_of_a_study_belong_together() -> Sentences:
    places = HITUnit.objects.exclude(hit__study=F("unit__study"))
    for hit, unit in places.values_list("hit__key", "unit__key").iterator(ROWS_AT_ONCE):
        yield f"HIT {hit}: unit {unit} is another study's."
    pairs = Unit.objects.filter(pair__isnull=False).exclude(pair__study=F("study"))
    yield from _sentences(pairs, "the pair of unit {key} is another study's.")
    items = Unit.objects.exclude(item__dataset=F("study__dataset"))
    yield from _sentences(items, "the image of unit {key} is another dataset's.")
    work = Assignment.objects.filter(hit__isnull=False).exclude(hit__study=F("study"))
    yield from _sentences(work, "the HIT of assignment {pk} is another study's.")
    published = PublishedPair.objects.exclude(item__dataset=F("dataset"))
    for name, key in published.values_list("dataset__name", "key").iterator(ROWS_AT_ONCE):
        yield f"Dataset {name}: the image of published pair {key} is another dataset's."


def pairs_have_units() -> Sentences:
    """Each candidate pair of a designed study has a unit; imported pairs may only have a winner."""
    pairs = CandidatePair.objects.filter(units=None).filter(
        Q(study__source=DESIGNED) | Q(published_winner=None)
    )
    yield from _sentences(pairs, "pair {key} has neither a unit nor a published winner.")


def pairs_name_known_references() -> Sentences:
    known: dict[int, set[str]] = {}
    rows = CandidatePair.objects.order_by("study_id", "pk")
    for slug, dataset, key, references in rows.values_list(
        "study__slug", "study__dataset_id", "key", "references"
    ).iterator(ROWS_AT_ONCE):
        if dataset not in known:
            captions = Caption.objects.filter(dataset_id=dataset, role=Caption.Role.REFERENCE)
            known = {dataset: set(captions.values_list("key", flat=True))}
        missing = [reference for reference in references if reference not in known[dataset]]
        if missing:
            yield f"Study {slug}: pair {key} lists {len(missing)} references that are not there, {missing[0]} first."


def slots_match_assignments() -> Sentences:
    """Live assignments, open and saved slots add up to a HIT's wanted slots; no two assignments share a slot."""
    hits = (
        HIT.objects.filter(study__source=DESIGNED)
        .annotate(live=Count("assignments", filter=Q(assignments__state__in=LIVE_STATES)))
        .exclude(open_slots=F("required") - F("live") - F("spared"))
    )
    names = ("study__slug", "key", "required", "open_slots", "live", "spared")
    for slug, key, required, open_slots, live, spared in hits.values_list(*names).iterator(ROWS_AT_ONCE):
        yield (
            f"Study {slug}: HIT {key} asks for {required} workers and has {open_slots} open slots"
            f"{f', {spared} spared' if spared else ''} and {live} live assignments."
        )
    live = Assignment.objects.filter(hit__isnull=False, study__source=DESIGNED, state__in=LIVE_STATES)
    wrong = live.filter(slot__gte=F("hit__required"))
    yield from _sentences(wrong, "assignment {pk} takes slot {slot}, which its HIT does not have.")


def hits_ask_for_what_the_design_says() -> Sentences:
    """HITs want ``judgments_per_unit`` workers plus extensions.

    They want more only if a slot was refilled (docs/stopping.md), or a crowd admitted someone without a free
    slot.
    """
    for study in Study.objects.filter(source=DESIGNED).order_by("slug"):
        wanted = study.design.get("judgments_per_unit")
        others = study.hits.exclude(required=wanted + F("extra"))
        if stops_early(study) or study.exclusions.exists() or study.publications.exists():
            others = others.filter(required__lt=wanted + F("extra"))
        for key, required, extra in others.values_list("key", "required", "extra"):
            added = f", and {extra} were added" if extra else ""
            yield f"Study {study.slug}: HIT {key} asks for {required} workers; the design says {wanted}{added}."


def finished_work_is_complete() -> Sentences:
    sizes = dict(HITUnit.objects.values_list("hit").annotate(size=Count("pk")).order_by())
    work = (
        Assignment.objects.filter(state__in=FINISHED_STATES, study__source=DESIGNED)
        .annotate(answered=Count("judgments", filter=Q(judgments__replaces=None)))
        .values_list("study__slug", "pk", "hit_id", "order", "answered")
    )
    for slug, pk, hit, order, answered in work.iterator(ROWS_AT_ONCE):
        shown = len(order) or sizes.get(hit, 0)
        if answered != shown:
            yield f"Study {slug}: submitted assignment {pk} has {answered} judgments on {shown} units."


def judgments_belong_to_finished_work() -> Sentences:
    allowed_states = (*FINISHED_STATES, Assignment.State.APART)
    early = Judgment.objects.exclude(assignment__state__in=allowed_states).exclude(
        assignment__state=Assignment.State.INVALIDATED, assignment__before_exclusion__in=FINISHED_STATES
    )
    yield from _sentences(
        early,
        "judgment {pk} belongs to assignment {assignment_id}, which is {assignment__state}.",
        study="assignment__study",
    )
    hit_units = HITUnit.objects.filter(hit=OuterRef("assignment__hit"), unit=OuterRef("unit"))
    foreign = Judgment.objects.filter(assignment__hit__isnull=False).exclude(Exists(hit_units))
    yield from _sentences(
        foreign, "judgment {pk} is on unit {unit__key}, which is not in its HIT.", study="assignment__study"
    )
    other = Judgment.objects.exclude(assignment__study=F("unit__study"))
    yield from _sentences(
        other, "judgment {pk} is on unit {unit__key} of another study.", study="assignment__study"
    )


def a_worker_judges_a_unit_once() -> Sentences:
    twice = (
        Judgment.objects.current()
        .values("assignment__study__slug", "unit__key", "assignment__worker__name")
        .annotate(count=Count("pk"))
        .filter(count__gt=1)
        .order_by()
        .values_list("assignment__study__slug", "unit__key", "assignment__worker__name", "count")
    )
    for slug, unit, worker, count in twice.iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: worker {worker} judged unit {unit} {count} times."


def exclusions_hold() -> Sentences:
    """Excluded workers have no included work.

    Invalidated work names an active exclusion of its worker; the worker's status agrees.
    """
    active = Exclusion.objects.filter(lifted_at=None)
    exclusions = active.filter(study=OuterRef("study"), worker=OuterRef("worker"))
    counts = Assignment.objects.filter(state__in=FINISHED_STATES).filter(Exists(exclusions))
    yield from _sentences(counts, "assignment {pk} is {state}, but its worker is excluded.")
    invalid = Assignment.objects.filter(state=Assignment.State.INVALIDATED)
    loose = invalid.filter(
        Q(before_exclusion="")
        | Q(exclusion__lifted_at__isnull=False)
        | ~Q(exclusion__worker=F("worker"))
        | ~Q(exclusion__study=F("study"))
    )
    yield from _sentences(loose, "assignment {pk} is invalidated without a current exclusion of its worker.")
    parts = Participation.objects.annotate(out=Exists(exclusions))
    excluded = Participation.Standing.EXCLUDED
    apart = parts.exclude(out=True, standing=excluded).exclude(~Q(standing=excluded), out=False)
    yield from _sentences(apart, "worker {worker__name} is {standing}, which their exclusions do not say.")


def _kind_if_readable(study: Study) -> Kind | None:
    """Return the kind under the study's design; the plain one if the design cannot be read, as is said elsewhere."""
    kind = installed_kind(study.protocol)
    if isinstance(kind, AbsentKind):
        return None
    with suppress(ValidationError):
        return kind.for_design(design_of(study))
    return kind


def values_are_allowed() -> Sentences:
    """A judgment has a valid value or open answer, and a side if the kind has sides."""
    for study in Study.objects.order_by("slug"):
        kind = _kind_if_readable(study)
        if kind is None:
            yield f"Study {study.slug}: protocol {study.protocol!r} is not known to this version."
            continue
        judgments = Judgment.objects.filter(assignment__study=study)
        if kind.is_open:
            wrong = judgments.filter(Q(answer=None) | Q(answer__isnull=True) | Q(value__isnull=False))
        else:
            known = judgments.order_by().values_list("value", flat=True).distinct()
            wrong = judgments.filter(Q(value=None) | Q(value__in=set(known) - {None, *kind.values}))
        for pk, value in wrong.values_list("pk", "value").iterator(ROWS_AT_ONCE):
            where = "expected an answer and no value" if kind.is_open else "which its kind does not know"
            yield f"Study {study.slug}: judgment {pk} has the value {value}; {where}."
        if study.source == DESIGNED:
            sides = judgments.filter(presented="") if kind.two_sided else judgments.exclude(presented="")
            for pk in sides.values_list("pk", flat=True).iterator(ROWS_AT_ONCE):
                expected = "expected which side was left" if kind.two_sided else "this kind has no sides"
                yield f"Study {study.slug}: judgment {pk} says {'no' if kind.two_sided else 'a'} side; {expected}."


def controls_know_their_answer() -> Sentences:
    """Control items of designed studies have expected answers, except repeated ones."""
    # JSON null and SQL NULL both mean none.
    nothing = Q(expected__isnull=True) | Q(expected=None)
    units = Unit.objects.filter(study__source=DESIGNED)
    lacking = units.filter(control=True).exclude(control_kind=Unit.ControlKind.REPEATED).filter(nothing)
    yield from _sentences(lacking, "control item {key} has no expected answer.")
    known = units.filter(control=False).exclude(nothing)
    yield from _sentences(known, "unit {key} is no control item, but has an expected answer.")


def people_and_rehearsals_are_apart() -> Sentences:
    work = Assignment.objects.filter(state__in=FINISHED_STATES).order_by("study__slug").distinct()
    unmarked = work.filter(simulated=True, study__simulated=False)
    yield from _sentences(unmarked, "holds simulated answers, but is not marked as simulated.")
    mixed = work.filter(simulated=False, study__simulated=True, study__source=DESIGNED)
    yield from _sentences(mixed, "marked as simulated, but holds answers of people.")


def pictures_are_there() -> Sentences:
    items = Item.objects.exclude(picture="").select_related("dataset").order_by("pk")
    for item in items.iterator(ROWS_AT_ONCE):
        if not item.picture.storage.exists(str(item.picture.name)):
            yield f"Dataset {item.dataset.name}: the picture file of {item.name} is missing."


def written_captions_have_their_writers() -> Sentences:
    written = WrittenCaption.objects.filter(judgment__isnull=False).exclude(
        judgment__assignment__worker=F("worker"), judgment__unit__study__dataset=F("caption__dataset")
    )
    for key, worker in written.values_list("caption__key", "worker__name").iterator(ROWS_AT_ONCE):
        yield f"Caption {key}: worker {worker} did not write it in a study of its dataset."


def erasures_are_one_chain() -> Sentences:
    """Each erasure names its predecessor, and has the digest of its content."""
    before = ""
    for row in Erasure.objects.select_related("study").order_by("pk"):
        if row.previous != before or row.digest != digest_of(row):
            yield f"Study {row.study.slug}: erasure {row.pk} was changed, or one before it was removed."
        before = row.digest


def erased_people_are_gone() -> Sentences:
    """No erased person is back, as after restoring a copy."""
    for erasure, worker in restored_after_erasure():
        yield (
            f"Study {erasure.study.slug}: worker {worker.pk} was erased on {erasure.at.date()} and is here again; "
            "`erase_person --replay FILE` erases them again."
        )


def systems_name_boxes_of_their_images() -> Sentences:
    rows = SystemContent.objects.values_list(
        "system__name", "system__dataset", "item__name", "item__dataset", "kind", "names", "item__boxes"
    )
    for system, dataset, item, other, kind, names, boxes in rows.iterator(ROWS_AT_ONCE):
        if dataset != other:
            yield f"System {system} names {kind} of {item}, an image of another dataset."
        elif kind == SystemContent.Kind.BOXES and (unknown := {*names} - {box["id"] for box in boxes}):
            yield f"System {system} names boxes that {item} has not: {', '.join(sorted(unknown))}."


CHECKS = (
    designs_can_be_read,
    drafts_are_empty,
    generated_studies_have_hits,
    units_stand_in_one_hit,
    rows_of_a_study_belong_together,
    pairs_have_units,
    pairs_name_known_references,
    systems_name_boxes_of_their_images,
    slots_match_assignments,
    hits_ask_for_what_the_design_says,
    finished_work_is_complete,
    judgments_belong_to_finished_work,
    a_worker_judges_a_unit_once,
    exclusions_hold,
    values_are_allowed,
    controls_know_their_answer,
    written_captions_have_their_writers,
    layouts_show_units_of_the_hit,
    revisions_replace_their_own,
    blocks_say_what_the_rows_say,
    work_that_is_held_was_never_sent,
    slots_are_saved_where_studies_stop_early,
    flags_name_their_exclusion,
    adjudications_are_of_judged_units,
    budgets_are_what_their_ledger_says,
    money_is_kept_within_a_budget,
    decided_sessions_are_booked,
    bonuses_that_are_done_are_spent,
    unpublished_hits_hold_no_money,
    paid_work_stays_in_its_study_and_place,
    people_and_rehearsals_are_apart,
    pictures_are_there,
    erasures_are_one_chain,
    erased_people_are_gone,
)


def _checks_of_features() -> list[Callable[[], Sentences]]:
    """Return what features check, whether they are on or off."""
    paths = (path for app in apps.get_app_configs() for path in getattr(app, "integrity_checks", ()))
    return [import_string(path) for path in paths]


def leases_that_ended() -> Sentences:
    overdue = Assignment.objects.overdue(timezone.now())
    for slug, count in overdue.values_list("study__slug").annotate(count=Count("pk")).order_by("study__slug"):
        yield f"Study {slug}: {count} leases ended and are not freed yet."


def results_older_than_the_data() -> Sentences:
    newest = Analysis.objects.filter(what=Analysis.What.AGGREGATION).order_by("study_id", "-created_at")
    seen: set[int] = set()
    for slug, study, computed_at in newest.values_list("study__slug", "study_id", "created_at"):
        if study in seen:
            continue
        seen.add(study)
        later = Assignment.objects.filter(
            study_id=study, state__in=FINISHED_STATES, submitted_at__gt=computed_at
        ).count()
        if later:
            yield f"Study {slug}: {later} assignments were submitted after its consensus was computed."


NOTES = (leases_that_ended, results_older_than_the_data)


def check_integrity() -> IntegrityFindings:
    return IntegrityFindings(
        problems=[sentence for check in (*CHECKS, *_checks_of_features()) for sentence in check()],
        notes=[sentence for check in NOTES for sentence in check()],
    )
