"""Invariants of slots and assignments. An assignment in progress has a lease, which ends at ``expires_at``."""

from __future__ import annotations

from django.db.models import Count, F, Q
from django.utils import timezone

from annotation.models import Assignment
from annotation.models.assignments import FINISHED_STATES, LIVE_STATES
from evaluation.data.invariants.sentences import DESIGNED_SOURCE, ROWS_PER_BATCH, Sentences, sentences_about
from judgments.models import HIT, HITUnit, Study
from judgments.studies.designs import stops_early


def layouts_show_units_of_the_hit() -> Sentences:
    """Check that an assignment's order has only positions of its HIT, each at most once.

    It is empty if the units are in the HIT's order. If sides (``flips``) are stored, there must be one for each
    position.
    """
    sizes = dict(HITUnit.objects.values_list("hit").annotate(size=Count("pk")).order_by())
    work = Assignment.objects.filter(hit__isnull=False, study__source=DESIGNED_SOURCE)
    names = ("study__slug", "pk", "hit_id", "order", "flips")
    for slug, pk, hit, order, flips in work.values_list(*names).iterator(ROWS_PER_BATCH):
        size = sizes.get(hit, 0)
        if len(set(order)) != len(order) or not set(order) <= set(range(size)):
            yield f"Study {slug}: the order of assignment {pk} is none of the {size} units of its HIT."
        elif flips and len(flips) != (len(order) or size):
            yield f"Study {slug}: assignment {pk} has {len(flips)} sides for {len(order) or size} units."


def work_in_progress_was_never_submitted() -> Sentences:
    open_work = Assignment.objects.filter(state__in=["reserved", "accepted"], study__source=DESIGNED_SOURCE)
    wrong_rows = open_work.filter(Q(submitted_at__isnull=False) | Q(expires_at__isnull=True))
    yield from sentences_about(wrong_rows, "assignment {pk} is {state}, but was submitted or has no lease.")


def slots_are_saved_where_studies_stop_early() -> Sentences:
    """Check that slots are saved only if the study stops early, or if its log says that open slots expired."""
    for study in Study.objects.filter(hits__spared__gt=0).distinct().order_by("slug"):
        if not stops_early(study) and not study.events.filter(what="slots-expired").exists():
            count = HIT.objects.filter(study=study, spared__gt=0).count()
            yield f"Study {study.slug}: {count} HITs have spared slots, but the study does not stop early."


def slots_match_assignments() -> Sentences:
    """Check that the slots of each HIT are live assignments, open slots, or slots saved by early stopping (``spared``).

    The three must add up to the number of workers that the HIT asks for. Each live assignment must have a slot below
    this number.
    """
    hits = (
        HIT.objects.filter(study__source=DESIGNED_SOURCE)
        .annotate(live=Count("assignments", filter=Q(assignments__state__in=LIVE_STATES)))
        .exclude(open_slots=F("required") - F("live") - F("spared"))
    )
    names = ("study__slug", "key", "required", "open_slots", "live", "spared")
    for slug, key, required, open_slots, live, spared in hits.values_list(*names).iterator(ROWS_PER_BATCH):
        note = f", {spared} spared" if spared else ""
        yield (
            f"Study {slug}: HIT {key} asks for {required} workers and has {open_slots} open slots{note} and {live} "
            "live assignments."
        )
    work = Assignment.objects.filter(hit__isnull=False, study__source=DESIGNED_SOURCE, state__in=LIVE_STATES)
    wrong_work = work.filter(slot__gte=F("hit__required"))
    yield from sentences_about(wrong_work, "assignment {pk} takes slot {slot}, which its HIT does not have.")


def hits_ask_for_what_the_design_says() -> Sentences:
    """Check that HITs ask for ``judgments_per_unit`` workers plus extensions.

    They may ask for more if slots can be refilled (docs/stopping.md) or a crowd can admit a person without a free slot:
    in studies that stop early, have exclusions, or were published.
    """
    for study in Study.objects.filter(source=DESIGNED_SOURCE).order_by("slug"):
        workers = study.design.get("judgments_per_unit")
        wrong_hits = study.hits.exclude(required=workers + F("extra"))
        if stops_early(study) or study.exclusions.exists() or study.publications.exists():
            wrong_hits = wrong_hits.filter(required__lt=workers + F("extra"))
        for key, required, extra in wrong_hits.values_list("key", "required", "extra"):
            addition = f", and {extra} were added" if extra else ""
            yield f"Study {study.slug}: HIT {key} asks for {required} workers; the design says {workers}{addition}."


def finished_work_is_complete() -> Sentences:
    sizes = dict(HITUnit.objects.values_list("hit").annotate(size=Count("pk")).order_by())
    work = (
        Assignment.objects.filter(state__in=FINISHED_STATES, study__source=DESIGNED_SOURCE)
        .annotate(answered=Count("judgments", filter=Q(judgments__replaces=None)))
        .values_list("study__slug", "pk", "hit_id", "order", "answered")
    )
    for slug, pk, hit, order, judgment_count in work.iterator(ROWS_PER_BATCH):
        unit_count = len(order) or sizes.get(hit, 0)  # an order may leave out units, such as decided ones
        if judgment_count != unit_count:
            yield f"Study {slug}: submitted assignment {pk} has {judgment_count} judgments on {unit_count} units."


def leases_that_ended() -> Sentences:
    leases = Assignment.objects.overdue(timezone.now())
    for slug, count in leases.values_list("study__slug").annotate(count=Count("pk")).order_by("study__slug"):
        yield f"Study {slug}: {count} leases ended and are not freed yet."
