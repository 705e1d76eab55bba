"""A study's rows as a release gives them away: pseudonyms in place of people, no free text of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django.db.models import Q

from annotation.models import Worker
from evaluation.export.moments import take_moment
from evaluation.export.rows import JudgmentRows
from evaluation.loaders import decisions_of, full_depth_units
from evaluation.models import Analysis, MetricScore
from evaluation.releases.pseudonyms import Pseudonyms, scrubbed
from judgments.controls import REPEATS
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Study, Unit

ROWS_AT_ONCE = 2_000
TEXTS = ("reference_text", "first_text", "second_text")


def released_judgments(
    study: Study, pseudonyms: Pseudonyms, *, texts: bool, comments: bool
) -> Iterator[dict[str, Any]]:
    """Every judgment but those that were revised, by unit and then by pseudonym: names say nothing by their order."""
    anonymous = set(Worker.objects.filter(study=study, anonymous=True).values_list("name", flat=True))
    for _, rows in groupby(JudgmentRows(study, take_moment(study)), key=lambda row: row["unit"]):
        yield from sorted(
            (_judgment(row, pseudonyms, anonymous, texts=texts, comments=comments) for row in rows),
            key=lambda row: (row["worker"], row["assignment"], row["submitted_at"] or ""),
        )


def _judgment(
    row: dict[str, Any], pseudonyms: Pseudonyms, anonymous: set[str], *, texts: bool, comments: bool
) -> dict[str, Any]:
    name = row["worker"]
    row["worker"] = pseudonyms.worker(name, anonymous=name in anonymous)
    row["assignment"] = pseudonyms.assignment(row["assignment"])
    row["comment"] = scrubbed(row["comment"], name) if comments and row["comment"] else None
    if not texts:
        row |= dict.fromkeys(TEXTS)
    row.pop("content", None)  # it stands with the unit
    return row


def released_units(study: Study, *, texts: bool) -> Iterator[dict[str, Any]]:
    """The units in their order, control items too; items of a quiz are kept back."""
    kind = KINDS[study.protocol]
    decisions = decisions_of(study)
    full_depth = full_depth_units(study) or set()
    rows = (
        Unit.objects.filter(study=study)
        .exclude(control_kind=Unit.ControlKind.QUIZ)
        .order_by("position", "pk")
        .values_list(
            "pk", "key", "kind", "pair__key", "item__name", "reference__key", "first__key", "second__key",
            "reference__text", "first__text", "second__text", "control", "control_kind", "expected", "struck",
            "content",
        )
    )  # fmt: skip
    for row in rows.iterator(ROWS_AT_ONCE):
        (
            pk, key, unit_kind, pair, image, reference, first, second, reference_text, first_text, second_text, control,
            control_kind, expected, struck, content,
        ) = row  # fmt: skip
        decision = decisions.get(pk)
        yield {
            "unit": key,
            "kind": unit_kind or None,
            "pair": pair,
            "image": image,
            "reference": reference,
            "first": first,
            "second": second,
            "reference_text": reference_text if texts else None,
            "first_text": first_text if texts else None,
            "second_text": second_text if texts else None,
            "control": control,
            "control_kind": control_kind or None,
            "expected": None if expected is None else kind.exported(expected, content=content),
            "repeats": content.get(REPEATS),
            "struck": struck,
            "full_depth": pk in full_depth,
            "decided": None if decision is None else decision.value,
            "content": content or None if kind.is_open else None,
        }


def released_pairs(study: Study) -> Iterator[dict[str, Any]]:
    """The candidate pairs in their order."""
    rows = (
        CandidatePair.objects.filter(study=study)
        .order_by("position", "pk")
        .values_list(
            "key", "kind", "item__name", "first__key", "second__key", "first_system__name", "second_system__name",
            "references", "published_winner",
        )
    )  # fmt: skip
    names = (
        "pair", "kind", "image", "first", "second", "first_system", "second_system", "references", "published_winner",
    )  # fmt: skip
    for row in rows.iterator(ROWS_AT_ONCE):
        yield dict(zip(names, row, strict=True)) | {"kind": row[1] or None}


def released_captions(study: Study) -> Iterator[dict[str, Any]]:
    """Every caption that is judged, and every reference of the images, by id."""
    units = Unit.objects.filter(study=study).exclude(control_kind=Unit.ControlKind.QUIZ)
    rows = (
        Caption.objects.filter(
            Q(pk__in=units.values("first"))
            | Q(pk__in=units.values("second"))
            | Q(pk__in=CandidatePair.objects.filter(study=study).values("first"))
            | Q(pk__in=CandidatePair.objects.filter(study=study).values("second"))
            | Q(item__in=units.values("item"), role=Caption.Role.REFERENCE)
        )
        .order_by("pk")
        .values_list("key", "text", "role", "item__name")
    )
    for key, text, role, image in rows.iterator(ROWS_AT_ONCE):
        yield {"caption": key, "text": text, "role": role, "image": image}


def released_scores(study: Study) -> Iterator[dict[str, Any]]:
    """Each metric's scores behind the study's newest meta-evaluation."""
    newest = (
        Analysis.objects.filter(study=study, what=Analysis.What.META_EVALUATION)
        .order_by("-created_at", "-pk")
        .first()
    )
    if newest is None:
        return
    rows = (
        MetricScore.objects.filter(analysis=newest)
        .order_by("metric", "pair__position", "unit__position", "pk")
        .values_list("metric", "pair__key", "unit__key", "first", "second")
    )
    for metric, pair, unit, first, second in rows.iterator(ROWS_AT_ONCE):
        yield {"metric": metric, "pair": pair, "unit": unit, "first": first, "second": second}
