"""Read a study's rows for a release: pseudonyms for workers, no identifying text."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from django.db.models import F, Q

from annotation.models import Worker
from annotation.snapshots import Snapshot
from common.rows import batched
from evaluation.data.export.rows import CAPTIONS, JudgmentRows
from evaluation.data.export.snapshot import take_snapshot
from evaluation.data.judgment_sets.loaders import decisions_of, full_depth_units, load_references
from evaluation.data.ranked_lists import ANNOTATION, NO_ORIGINAL, SEARCH, proposals_of
from evaluation.data.releases.rows import ANONYMOUS, TEXTS, TIMES, to_the_minute
from evaluation.numeric.parallel import map_parts
from evaluation.reports.loading import Evaluated
from judgments.drawing.controls import REPEATS
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Item, Study, Unit

ROWS_AT_ONCE = 2_000
DIGITS = 16
MAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+")
ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
NUMBER = re.compile(r"\+?\d[\d \-/()]{4,}\d")
LEFT_OUT = "[…]"
# Column of units.jsonl and pairs.jsonl -> where it is stored.
STORED_UNIT = {
    "unit": "key",
    "kind": "kind",
    "pair": "pair__key",
    "image": "item__name",
    **CAPTIONS,
    "control": "control",
    "control_kind": "control_kind",
    "expected": "expected",
    "repeats": "content",  # which names the repeated unit
    "struck": "withdrawn",
    "filtered": "filtered",
    "audited": "audited",
}
STORED_PAIR = {
    "pair": "key",
    "kind": "kind",
    "image": "item__name",
    "first": "first__key",
    "second": "second__key",
    "first_system": "first_system__name",
    "second_system": "second_system__name",
    "references": "references",
    "published_winner": "published_winner",
}


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """Map equal names to equal pseudonyms within a release, irreversibly without the salt."""

    salt: bytes

    def worker(self, name: str, *, anonymous: bool) -> str:
        return f"{ANONYMOUS if anonymous else 'p-'}{self._digest('worker', name)}"

    def assignment(self, name: str) -> str:
        return f"a-{self._digest('assignment', name)}"

    def _digest(self, what: str, name: str) -> str:
        return hmac.new(self.salt, f"{what}\n{name}".encode(), hashlib.sha256).hexdigest()[:DIGITS]


def scrub_comment(comment: str, name: str) -> str:
    """Remove the author's name, addresses and longer numbers from a comment."""
    for pattern in (MAIL, ADDRESS, NUMBER):
        comment = pattern.sub(LEFT_OUT, comment)
    return re.sub(re.escape(name), LEFT_OUT, comment, flags=re.IGNORECASE) if name else comment


def released_judgments(
    study: Study, pseudonyms: Pseudonyms, *, texts: bool, comments: bool
) -> Iterator[dict[str, Any]]:
    """Yield unrevised judgments by unit, then pseudonym, whose order reveals nothing."""
    anonymous = set(Worker.objects.filter(study=study, anonymous=True).values_list("name", flat=True))
    release = partial(
        _released_judgment, pseudonyms=pseudonyms, anonymous=anonymous, texts=texts, comments=comments
    )
    units = Unit.objects.filter(study=study).order_by("position", "pk").values_list("pk", flat=True)
    shared = study, take_snapshot(study), release
    for rows in map_parts(_read_part, shared, list(batched(units.iterator(ROWS_AT_ONCE), ROWS_AT_ONCE))):
        yield from rows


def _read_part(
    shared: tuple[Study, Snapshot, Callable[[dict[str, Any]], dict[str, Any]]], units: Sequence[int]
) -> list[dict[str, Any]]:
    study, moment, release = shared
    released: list[dict[str, Any]] = []
    for _, rows in groupby(JudgmentRows(study, moment, only=units), key=lambda row: row["unit"]):
        released += sorted(
            map(release, rows), key=lambda row: (row["worker"], row["assignment"], row["submitted_at"] or "")
        )
    return released


def _released_judgment(
    row: dict[str, Any], pseudonyms: Pseudonyms, anonymous: set[str], *, texts: bool, comments: bool
) -> dict[str, Any]:
    name = row["worker"]
    row["worker"] = pseudonyms.worker(name, anonymous=name in anonymous)
    row["assignment"] = pseudonyms.assignment(row["assignment"])
    row |= {name: to_the_minute(row[name]) for name in TIMES}
    row["comment"] = scrub_comment(row["comment"], name) if comments and row["comment"] else None
    if not texts:
        row |= dict.fromkeys(TEXTS)
    row.pop("content", None)  # units.jsonl has it
    row.pop("answers", None)  # the settings of the bundle have them
    row.pop("systems", None)  # pairs.jsonl and proposals.jsonl have them
    return row


def released_units(study: Study, *, texts: bool) -> Iterator[dict[str, Any]]:
    kind = KINDS[study.protocol]
    decisions = decisions_of(study)
    full_depth = full_depth_units(study) or set()
    first_ids: dict[str, str] = {}  # text -> id of its first caption
    units = Unit.objects.filter(study=study).exclude(control_kind=Unit.ControlKind.QUIZ)
    rows = units.order_by("position", "pk").values_list("pk", *STORED_UNIT.values())
    for pk, *values in rows.iterator(ROWS_AT_ONCE):
        row = dict(zip(STORED_UNIT, values, strict=True))
        first, expected, content = row["first"], row["expected"], row["repeats"]
        decision = decisions.get(pk)
        judged_as = first
        if kind.judges_one_caption and not row["control"]:
            judged_as = first_ids.setdefault(row["first_text"], first)
        if not texts:
            row |= dict.fromkeys(TEXTS)
        yield {
            **row,
            "kind": row["kind"] or None,
            "control_kind": row["control_kind"] or None,
            "expected": None if expected is None else kind.exchange.to_file(expected, content=content),
            "repeats": content.get(REPEATS),
            "full_depth": pk in full_depth,
            "decided": None if decision is None else decision.value,
            "content": content or None if kind.is_open else None,
            **({"same_words": judged_as} if judged_as != first else {}),
        }


def released_pairs(study: Study) -> Iterator[dict[str, Any]]:
    rows = (
        CandidatePair.objects.filter(study=study)
        .order_by("position", "pk")
        .values_list(*STORED_PAIR.values())
    )
    for values in rows.iterator(ROWS_AT_ONCE):
        row = dict(zip(STORED_PAIR, values, strict=True))
        yield row | {"kind": row["kind"] or None}


def released_captions(study: Study) -> Iterator[dict[str, Any]]:
    """Yield judged captions and references by id; for pairs, all references of their splits."""
    compares = KINDS[study.protocol].compares_pairs
    splits = load_references(study).splits if compares else []
    images = Q(item__split__in=splits, dataset=study.dataset_id)
    units = Unit.objects.filter(study=study).exclude(control_kind=Unit.ControlKind.QUIZ)
    rows = (
        Caption.objects.filter(
            Q(pk__in=units.values("first"))
            | Q(pk__in=units.values("second"))
            | Q(pk__in=CandidatePair.objects.filter(study=study).values("first"))
            | Q(pk__in=CandidatePair.objects.filter(study=study).values("second"))
            | Q(item__in=units.values("item"), role=Caption.Role.REFERENCE)
            | images & Q(role=Caption.Role.REFERENCE)
        )
        .order_by(F("item__position").asc(nulls_first=True), "position", "pk")
        .values_list("key", "text", "role", "item__name", "item__split")
    )
    for key, text, role, image, split in rows.iterator(ROWS_AT_ONCE):
        counted = role == Caption.Role.REFERENCE and split in splits
        yield {"caption": key, "text": text, "role": role, "image": image, "document": counted}


def released_scores(study: Study, evaluated: Evaluated) -> Iterator[dict[str, Any]]:
    compares = KINDS[study.protocol].compares_pairs
    keys: dict[Any, str] = {}
    images: dict[int, str] = {}
    if evaluated.pks is None:
        items = Unit.objects.filter(study=study).values("item_id")
        images = dict(Item.objects.filter(pk__in=items).values_list("pk", "name"))
    else:
        rows: Any = (
            CandidatePair.objects.filter(study=study) if compares else Unit.objects.filter(study=study)
        )
        keys = dict(rows.values_list("pk", "key"))
    # In the requested order, which tied metrics keep in every table.
    order = {name: position for position, name in enumerate(evaluated.evaluation.settings["metrics"])}
    for metric in sorted(evaluated.scores, key=lambda name: (order.get(name, len(order)), name)):
        for index, row in enumerate(evaluated.scores[metric].tolist()):
            key = keys[evaluated.pks[index]] if evaluated.pks is not None else None
            image, caption = evaluated.captions[index] if evaluated.pks is None else (None, None)
            yield {
                "metric": metric,
                "pair": key if compares else None,
                "unit": None if compares else key,
                "image": None if image is None else images[image],
                "caption": caption,
                "first": row[0],
                "second": row[1] if compares else None,
            }


def released_proposals(study: Study) -> Iterator[dict[str, Any]]:
    """Yield systems' proposals for images of the judged splits, list by list."""
    proposals = proposals_of(study)
    texts = list(map(str, proposals.texts))
    names = ("system", "image", "text", "asker", "position", "original")
    columns = (getattr(proposals, name).tolist() for name in names)
    for system, image, text, asker, rank, original in zip(*columns, strict=True):
        yield {
            "system": proposals.systems[system],
            "task": ANNOTATION if asker < 0 else SEARCH,
            "image": proposals.images[image],
            "caption": texts[text],
            "query": None if asker < 0 else proposals.askers[asker],
            "rank": rank,
            "original": None if original == NO_ORIGINAL else bool(original),
        }
