"""The rows of a release that are not about people: units, pairs, texts, metrics' scores, and systems' outputs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import F, Q

from common.texts import one_text
from evaluation.data.export.formats.judgment_columns import CAPTION_PATHS
from evaluation.data.judgment_sets.loaders import (
    ROWS_PER_BATCH,
    decisions_of,
    full_depth_units,
    load_references,
)
from evaluation.data.ranked_lists import ANNOTATION, NO_ORIGINAL, SEARCH, proposals_of
from evaluation.data.releases.tables import CONTENT_FIELDS, TEXTS
from evaluation.reports.inputs import EvaluationResult
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.drawing.documents import document_in
from judgments.kinds import KINDS, Kind
from judgments.models import CandidatePair, Caption, Item, Study, System, SystemContent, Unit

# The fields of the database for the columns of units.jsonl and pairs.jsonl, by column.
FIELDS_OF_UNITS = {
    "unit": "key",
    "kind": "kind",
    "pair": "pair__key",
    "image": "item__name",
    **CAPTION_PATHS,
    "control": "control",
    "control_kind": "control_kind",
    "expected": "expected",
    "repeats": "content",  # replaced by the repeated unit, which "content" names
    "struck": "withdrawn",
    # whether its text only fills up the item's last group of texts: the filter left it out, or it is of another item
    "filtered": "filtered",
    "audited": "audited",  # whether it is of the judged sample of texts that the filter rejected
    "systems": "systems",
    "document": "item__fields",
}
FIELDS_OF_PAIRS = {
    "pair": "key",
    "kind": "kind",
    "image": "item__name",
    "first": "first__key",
    "second": "second__key",
    "first_system": "first_system__name",
    "second_system": "second_system__name",
    "references": "references",
    "published_winner": "published_winner",
    "document": "item__fields",
}


def released_units(study: Study, *, texts: bool) -> Iterator[dict[str, Any]]:
    """Yield the units, except those of quizzes. Without ``texts``, the columns of texts are None."""
    kind = KINDS[study.protocol]
    decisions = decisions_of(study)
    full_depth = full_depth_units(study) or set()  # units that early stopping leaves alone
    first_ids: dict[str, str] = {}  # id of the first caption with each text
    system_names = dict(System.objects.of_study(study).values_list("pk", "name"))
    units = Unit.objects.filter(study=study).exclude(control_kind=Unit.ControlKind.QUIZ)
    rows = units.order_by("position", "pk").values_list("pk", *FIELDS_OF_UNITS.values())
    for pk, *values in rows.iterator(ROWS_PER_BATCH):
        row = dict(zip(FIELDS_OF_UNITS, values, strict=True))
        first_id, expected = row["first"], row["expected"]
        content = row["repeats"]  # see FIELDS_OF_UNITS
        credited_names = _names_of_systems(row.pop("systems"), system_names)
        document = document_in(row.pop("document"))
        decision = decisions.get(pk)
        caption_with_text = first_id
        if kind.judges_one_caption and not row["control"]:
            caption_with_text = first_ids.setdefault(one_text(row["first_text"]), first_id)
        if not texts:
            row |= dict.fromkeys(TEXTS)
        row |= {
            "kind": row["kind"] or None,
            "control_kind": row["control_kind"] or None,
            "expected": None if expected is None else kind.exchange.to_file(expected, content=content),
            "repeats": content.get(ORIGINAL_UNIT),
            "full_depth": pk in full_depth,
            "decided": None if decision is None else decision.value,
            "content": (content or None) if kind.is_open else None,
        }
        # Columns that only some units have. "same_words" tells which texts are equal in a release without texts.
        if caption_with_text != first_id:
            row["same_words"] = caption_with_text
        if credited_names:
            row["systems"] = credited_names
        if document:
            row["document"] = document
        yield row


def _names_of_systems(systems: Sequence[Any], names: Mapping[int, str]) -> list[Any]:
    """Return ``Unit.systems``, which may be nested, with names instead of row ids. A text without a system has None."""
    return [_names_of_systems(row, names) if isinstance(row, list) else names.get(row) for row in systems]


def released_pairs(study: Study) -> Iterator[dict[str, Any]]:
    rows = (
        CandidatePair.objects.filter(study=study)
        .order_by("position", "pk")
        .values_list(*FIELDS_OF_PAIRS.values())
    )
    for values in rows.iterator(ROWS_PER_BATCH):
        row = dict(zip(FIELDS_OF_PAIRS, values, strict=True))
        row["kind"] = row["kind"] or None
        document = document_in(row.pop("document"))
        if document:
            row["document"] = document
        yield row


def released_captions(study: Study) -> Iterator[dict[str, Any]]:
    """Yield judged captions and references, in the dataset's order. For pairs, all references of judged splits."""
    compares_pairs = KINDS[study.protocol].compares_pairs
    splits = load_references(study).splits if compares_pairs else []
    is_of_judged_splits = Q(item__split__in=splits, dataset=study.dataset_id)
    units = Unit.objects.filter(study=study).exclude(control_kind=Unit.ControlKind.QUIZ)
    rows = (
        Caption.objects.filter(
            Q(pk__in=units.values("first"))
            | Q(pk__in=units.values("second"))
            | Q(pk__in=CandidatePair.objects.filter(study=study).values("first"))
            | Q(pk__in=CandidatePair.objects.filter(study=study).values("second"))
            | Q(item__in=units.values("item"), role=Caption.Role.REFERENCE)
            | is_of_judged_splits & Q(role=Caption.Role.REFERENCE)
        )
        .order_by(F("item__position").asc(nulls_first=True), "position", "pk")
        .values_list("key", "text", "role", "item__name", "item__split")
    )
    for key, text, role, image, split in rows.iterator(ROWS_PER_BATCH):
        # Whether the caption counts for the document frequencies of words.
        is_in_document = role == Caption.Role.REFERENCE and split in splits
        yield {"caption": key, "text": text, "role": role, "image": image, "document": is_in_document}


def released_scores(study: Study, evaluation: EvaluationResult) -> Iterator[dict[str, Any]]:
    """Yield the metrics' scores of pairs (``first`` and ``second`` text), or of units or captions (only ``first``)."""
    compares_pairs = KINDS[study.protocol].compares_pairs
    keys: dict[Any, str] = {}
    images: dict[Hashable, str] = {}
    if evaluation.scored_ids is None:
        items = Unit.objects.filter(study=study).values("item_id")
        images = dict(Item.objects.filter(pk__in=items).values_list("pk", "name"))
    else:
        rows: Any = (
            CandidatePair.objects.filter(study=study) if compares_pairs else Unit.objects.filter(study=study)
        )
        keys = dict(rows.values_list("pk", "key"))
    # Use the order in which metrics were requested, which tied metrics keep in all tables.
    order = {name: position for position, name in enumerate(evaluation.settings["metrics"])}
    for metric in sorted(evaluation.scores, key=lambda name: (order.get(name, len(order)), name)):
        for index, (first_score, *other_scores) in enumerate(evaluation.scores[metric].tolist()):
            key = None if evaluation.scored_ids is None else keys[evaluation.scored_ids[index]]
            image, caption = evaluation.captions[index] if key is None else (None, None)
            yield {
                "metric": metric,
                "pair": key if compares_pairs else None,
                "unit": None if compares_pairs else key,
                "image": None if image is None else images[image],
                "caption": caption,
                "first": first_score,
                "second": other_scores[0] if compares_pairs else None,
            }


def released_proposals(study: Study) -> Iterator[dict[str, Any]]:
    """Yield the systems' ranked outputs for images of the judged splits, list by list."""
    proposals = proposals_of(study)
    texts = list(map(str, proposals.texts))
    names = ("system", "image", "text", "query_caption", "position", "original")
    columns = (getattr(proposals, name).tolist() for name in names)
    for system, image, text, query_caption, rank, original in zip(*columns, strict=True):
        yield {
            "system": proposals.systems[system],
            "task": ANNOTATION if query_caption < 0 else SEARCH,  # -1: the image is the query
            "image": proposals.images[image],
            "caption": texts[text],
            "query": None if query_caption < 0 else proposals.query_captions[query_caption],
            "rank": rank,
            "original": None if original == NO_ORIGINAL else bool(original),  # is the text the image's own?
        }


def released_contents(study: Study, kind: Kind) -> Iterator[dict[str, Any]]:
    """Yield the boxes or keywords that systems gave for the judged items."""
    units = Unit.objects.filter(study=study, control=False)
    contents = SystemContent.objects.of_study(study, kind.system_content).filter(
        item__in=units.values("item")
    )
    rows = contents.order_by("system__name", "item__position", "pk")
    for values in rows.values_list("system__name", "item__name", "names").iterator(ROWS_PER_BATCH):
        yield dict(zip(CONTENT_FIELDS, values, strict=True))
