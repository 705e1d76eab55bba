"""Invariants of designs, units, HITs and the units of HITs. Each function yields a sentence for each violation."""

from __future__ import annotations

from django.db.models import Count, F, Q
from pydantic import ValidationError

from annotation.models import Assignment
from evaluation.data.invariants.sentences import DESIGNED_SOURCE, ROWS_PER_BATCH, Sentences, sentences_about
from judgments.models import (
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
from judgments.studies.designs import design_of


def designs_can_be_read() -> Sentences:
    for study in Study.objects.select_related("dataset").order_by("slug"):
        try:
            design = design_of(study)
        except ValidationError as error:
            yield f"Study {study.slug}: its design cannot be read ({error.error_count()} errors)."
            continue
        names = (design.slug, design.protocol, design.dataset)
        if names != (study.slug, study.protocol, study.dataset.name):
            yield f"Study {study.slug}: its design is for {', '.join(names)}."


def drafts_are_empty() -> Sentences:
    for study in Study.objects.filter(state=Study.State.DRAFT).order_by("slug"):
        if study.hits.exists() or study.units.exists() or study.pairs.exists():
            yield f"Study {study.slug}: a draft, but it has HITs, units or pairs."


def generated_studies_have_hits() -> Sentences:
    studies = Study.objects.filter(source=DESIGNED_SOURCE).exclude(state=Study.State.DRAFT)
    for slug in studies.filter(hits=None).order_by("slug").values_list("slug", flat=True):
        yield f"Study {slug}: past drafting, but it has no HIT."


def units_are_in_one_hit() -> Sentences:
    """Check that each unit of a designed study is in exactly one HIT.

    Quiz items, and control items withdrawn before the study opened, are in no HIT. Control items withdrawn later
    remain. A judged unit of an arena is in every HIT that drew it.
    """
    arenas = SystemPair.objects.values("study")
    units = (
        Unit.objects.filter(study__source=DESIGNED_SOURCE)
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
        ROWS_PER_BATCH
    ):
        expected_count = "0, it was withdrawn" if withdrawn else "1"
        yield f"Study {slug}: unit {key} is in {count} HITs; expected {expected_count}."


def rows_of_a_study_belong_together() -> Sentences:
    hit_units = HITUnit.objects.exclude(hit__study=F("unit__study"))
    for hit, unit in hit_units.values_list("hit__key", "unit__key").iterator(ROWS_PER_BATCH):
        yield f"HIT {hit}: unit {unit} is another study's."
    pairs = Unit.objects.filter(pair__isnull=False).exclude(pair__study=F("study"))
    yield from sentences_about(pairs, "the pair of unit {key} is another study's.")
    items = Unit.objects.exclude(item__dataset=F("study__dataset"))
    yield from sentences_about(items, "the image of unit {key} is another dataset's.")
    work = Assignment.objects.filter(hit__isnull=False).exclude(hit__study=F("study"))
    yield from sentences_about(work, "the HIT of assignment {pk} is another study's.")
    published_pairs = PublishedPair.objects.exclude(item__dataset=F("dataset"))
    for name, key in published_pairs.values_list("dataset__name", "key").iterator(ROWS_PER_BATCH):
        yield f"Dataset {name}: the image of published pair {key} is another dataset's."


def pairs_have_units() -> Sentences:
    """Check that candidate pairs of designed studies have a unit; imported pairs may have only a winner."""
    pairs = CandidatePair.objects.filter(units=None).filter(
        Q(study__source=DESIGNED_SOURCE) | Q(published_winner=None)
    )
    yield from sentences_about(pairs, "pair {key} has neither a unit nor a published winner.")


def pairs_name_known_references() -> Sentences:
    caption_keys: dict[int, set[str]] = {}
    rows = CandidatePair.objects.order_by("study_id", "pk")
    for slug, dataset, key, references in rows.values_list(
        "study__slug", "study__dataset_id", "key", "references"
    ).iterator(ROWS_PER_BATCH):
        if dataset not in caption_keys:
            captions = Caption.objects.filter(dataset_id=dataset, role=Caption.Role.REFERENCE)
            # Keep the keys of one dataset at a time, to save memory.
            caption_keys = {dataset: set(captions.values_list("key", flat=True))}
        absent_keys = [reference for reference in references if reference not in caption_keys[dataset]]
        if absent_keys:
            listing = f"lists {len(absent_keys)} references that are not there, {absent_keys[0]} first"
            yield f"Study {slug}: pair {key} {listing}."


def controls_know_their_answer() -> Sentences:
    """Check that control items of designed studies, except repeated items, have expected answers."""
    # JSON null and SQL NULL both mean no answer.
    no_answer = Q(expected__isnull=True) | Q(expected=None)
    units = Unit.objects.filter(study__source=DESIGNED_SOURCE)
    controls = units.filter(control=True).exclude(control_kind=Unit.ControlKind.REPEATED).filter(no_answer)
    yield from sentences_about(controls, "check question {key} has no right answer.")
    items = units.filter(control=False).exclude(no_answer)
    yield from sentences_about(items, "item {key} is no check question, but has a right answer.")


def pictures_are_there() -> Sentences:
    items = Item.objects.exclude(picture="").select_related("dataset").order_by("pk")
    for item in items.iterator(ROWS_PER_BATCH):
        if not item.picture.storage.exists(str(item.picture.name)):
            yield f"Dataset {item.dataset.name}: the picture file of {item.name} is missing."


def systems_name_boxes_of_their_images() -> Sentences:
    rows = SystemContent.objects.values_list(
        "system__name", "system__dataset", "item__name", "item__dataset", "kind", "names", "item__boxes"
    )
    for system, dataset, item, item_dataset, kind, names, boxes in rows.iterator(ROWS_PER_BATCH):
        if dataset != item_dataset:
            yield f"System {system} names {kind} of {item}, an image of another dataset."
        elif kind == SystemContent.Kind.BOXES:
            unknown_boxes = set(names) - {box["id"] for box in boxes}
            if unknown_boxes:
                yield f"System {system} names boxes that {item} has not: {', '.join(sorted(unknown_boxes))}."
