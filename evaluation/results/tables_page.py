"""Tables and plots of the page "Results"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from django.core.cache import cache
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from common.amounts import thousands
from evaluation.models import Consensus
from evaluation.presentation.content import percent
from evaluation.results.consensus import SIDE_LABELS
from evaluation.results.disagreement import WORKER_MODELS
from evaluation.statistics.aggregation.votes_and_means import SURE
from judgments.admin.base import picture_address
from judgments.drawing.material import content_key
from judgments.kinds.base import Kind
from judgments.kinds.pairs import HOW_SURE

DAY = 86_400
Drawn = TypeVar("Drawn")
ENOUGH = 20  # judgments from which a habit is worth a note
ONE_SIDE = 0.9
PIECES_SHOWN = 10
MODEL_ROWS_SHOWN = 8
MODEL_WORKERS_SHOWN = 50
MODEL_COLUMNS = {
    "mace": {"competence": gettext_noop("Competence (MACE)")},
    "glad": {"ability": gettext_noop("Ability (GLAD)")},
    "response": {"ability": gettext_noop("Ability (response model)")},
}


def as_markup(markup: str) -> SafeString:
    return mark_safe(markup)  # noqa: S308  # its makers escape what people wrote


def cached_drawing(draw: Callable[..., Drawn], *arguments: Any) -> Drawn:
    key = f"quorum-drawing-{get_language()}-{draw.__name__}-{content_key(*arguments)}"
    drawing: Drawn | None = cache.get(key)
    if drawing is None:
        drawing = draw(*arguments)
        cache.set(key, drawing, DAY)
    return drawing


def worker_note(row: Mapping[str, Any], threshold: Any) -> str:
    notes = []
    if not row["used"]:
        note = _("excluded")
        if row["controls_share"] is not None and isinstance(threshold, float | int):
            note = _("excluded: below %(share)s on check questions") % {"share": percent(threshold)}
        notes.append(note)
    left = row["left_share"]
    if left is not None and row["judgments"] >= ENOUGH and not 1 - ONE_SIDE < left < ONE_SIDE:
        notes.append(_("nearly always left") if left >= ONE_SIDE else _("nearly always right"))
    return "; ".join(notes)


def model_sentence(model: Mapping[str, Any]) -> str:
    """Describe how Dawid and Skene's model differs from the consensus."""
    if not model or model["reason"]:
        return ""
    differ, ties = model["differ"], model["breaks_ties"]
    if not differ and not ties:
        return _(
            "No: on all %(n)s judged items, a model that weighs participants by their accuracy comes to the same "
            "answer."
        ) % {"n": thousands(model["compared"])}
    sentence = _(
        "On %(differ)s of %(n)s judged items a model that weighs participants by their accuracy comes to another "
        "answer than the consensus."
    )
    if ties:
        sentence = _(
            "On %(differ)s of %(n)s judged items a model that weighs participants by their accuracy comes to another "
            "answer than the consensus, and it decides %(ties)s that are tied."
        )
    sentence %= {"differ": thousands(differ), "n": thousands(model["compared"]), "ties": thousands(ties)}
    if model["converged"]:
        return sentence
    careful = _("The model did not converge: take this with care.")
    return f"{sentence} {careful}"


def other_models(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    fitted, columns = [], []
    workers: dict[str, dict[int, Any]] = {}
    for name, model in models.items():
        if model["reason"]:
            sentence = _(model["reason"])
        elif "differ" in model:
            sentence = _(
                "Another answer than the consensus on %(differ)s of %(n)s items; %(ties)s ties decided."
            ) % {
                "differ": thousands(model["differ"]),
                "n": thousands(model["compared"]),
                "ties": thousands(model["breaks_ties"]),
            }
        else:
            sentence = _("Fitted to %(n)s answers that are those of most others on their item, or not.") % {
                "n": thousands(model["answers"])
            }
        if model.get("levels"):
            sentence = f"{sentence} {_describe_levels(model['levels'])}"
        fitted.append({"name": _(WORKER_MODELS[name]), "sentence": sentence, "note": model.get("note", "")})
        for column, title in MODEL_COLUMNS.get(name, {}).items():
            columns.append(_(title))
            for row in model.get("workers", ()):
                workers.setdefault(row["worker"], {})[len(columns) - 1] = row[column]
    rows = [
        {"worker": worker, "cells": [cells.get(index) for index in range(len(columns))]}
        for worker, cells in sorted(workers.items())
    ]
    return {"models": fitted, "columns": columns, "rows": rows[:MODEL_WORKERS_SHOWN]}


def _describe_levels(levels: Sequence[Mapping[str, Any]]) -> str:
    labels = {0: _("not said"), **{choice.value // SURE: _(choice.text) for choice in HOW_SURE}}
    shares = [
        f"{labels[row['level']]}: {percent(row['right'] / row['compared'])} ({thousands(row['compared'])})"
        for row in levels
        if row["compared"]
    ]
    return _("Answers that are those of most others, by how sure people were: %(levels)s.") % {
        "levels": ", ".join(shares)
    }


def model_rows(kind: Kind, model: Mapping[str, Any]) -> list[dict[str, Any]]:
    labels = SIDE_LABELS if kind.two_sided else {0: _("no"), 1: _("yes")}
    return [
        {
            "unit": row["unit"],
            "consensus": labels[int(row["consensus"])],
            "votes": ", ".join(f"{labels[int(value)]} {n}" for value, n in row["votes"].items() if n),
            "value": labels[int(row["value"])],
            "probability": row["probability"],
        }
        for row in model.get("differing", [])[:MODEL_ROWS_SHOWN]
    ]


def answer_rows(kind: Kind, shown: Iterable[Consensus]) -> list[dict[str, Any]]:
    rows = []
    for consensus in shown:
        unit = consensus.unit
        if unit is None or not consensus.answer:
            continue
        pieces = kind.describe_consensus(consensus.answer, unit=unit)
        rows.append(
            {
                "picture": picture_address(unit.item),
                "image": unit.item.name,
                "text": unit.first.text if unit.first else unit.content.get("text", ""),
                "said": pieces[:PIECES_SHOWN],
                "left": max(len(pieces) - PIECES_SHOWN, 0),
                "n": consensus.n,
            }
        )
    return rows
