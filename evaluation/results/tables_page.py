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
from evaluation.results.consensus import SIDES_IN_WORDS
from evaluation.results.disagreement import WORKER_MODELS
from evaluation.statistics.aggregation.voting import SURE
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


def cached_drawing(draw: Callable[..., Drawn], *of: Any) -> Drawn:
    key = f"quorum-drawing-{get_language()}-{draw.__name__}-{content_key(*of)}"
    kept: Drawn | None = cache.get(key)
    if kept is None:
        kept = draw(*of)
        cache.set(key, kept, DAY)
    return kept


def worker_note(row: Mapping[str, Any], threshold: Any) -> str:
    notes = []
    if not row["used"]:
        below = row["controls_share"] is not None and isinstance(threshold, float | int)
        notes.append(
            _("excluded: below %(share)s on check questions") % {"share": percent(threshold)}
            if below
            else _("excluded")
        )
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
    said = (
        _(
            "On %(differ)s of %(n)s judged items a model that weighs participants by their accuracy comes to another "
            "answer than the consensus, and it decides %(ties)s that are tied."
        )
        if ties
        else _(
            "On %(differ)s of %(n)s judged items a model that weighs participants by their accuracy comes to another "
            "answer than the consensus."
        )
    ) % {"differ": thousands(differ), "n": thousands(model["compared"]), "ties": thousands(ties)}
    if model["converged"]:
        return said
    careful = _("The model did not converge: take this with care.")
    return f"{said} {careful}"


def other_models(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    told, columns = [], []
    workers: dict[str, dict[int, Any]] = {}
    for name, model in models.items():
        if model["reason"]:
            said = _(model["reason"])
        elif "differ" in model:
            said = _(
                "Another answer than the consensus on %(differ)s of %(n)s items; %(ties)s ties decided."
            ) % {
                "differ": thousands(model["differ"]),
                "n": thousands(model["compared"]),
                "ties": thousands(model["breaks_ties"]),
            }
        else:
            said = _("Fitted to %(n)s answers that are those of most others on their item, or not.") % {
                "n": thousands(model["answers"])
            }
        if model.get("levels"):
            said = f"{said} {_levels_in_words(model['levels'])}"
        told.append({"name": _(WORKER_MODELS[name]), "sentence": said, "note": model.get("note", "")})
        for column, title in MODEL_COLUMNS.get(name, {}).items():
            columns.append(_(title))
            for row in model.get("workers", ()):
                workers.setdefault(row["worker"], {})[len(columns) - 1] = row[column]
    rows = [
        {"worker": worker, "cells": [own.get(place) for place in range(len(columns))]}
        for worker, own in sorted(workers.items())
    ]
    return {"told": told, "columns": columns, "rows": rows[:MODEL_WORKERS_SHOWN]}


def _levels_in_words(levels: Sequence[Mapping[str, Any]]) -> str:
    words = {0: _("not said"), **{one.value // SURE: _(one.words) for one in HOW_SURE}}
    told = [
        f"{words[row['level']]}: {percent(row['right'] / row['compared'])} ({thousands(row['compared'])})"
        for row in levels
        if row["compared"]
    ]
    return _("Answers that are those of most others, by how sure people were: %(levels)s.") % {
        "levels": ", ".join(told)
    }


def model_rows(kind: Kind, model: Mapping[str, Any]) -> list[dict[str, Any]]:
    words = SIDES_IN_WORDS if kind.two_sided else {0: _("no"), 1: _("yes")}
    return [
        {
            "unit": row["unit"],
            "consensus": words[int(row["consensus"])],
            "votes": ", ".join(f"{words[int(value)]} {n}" for value, n in row["votes"].items() if n),
            "value": words[int(row["value"])],
            "probability": row["probability"],
        }
        for row in model.get("differing", [])[:MODEL_ROWS_SHOWN]
    ]


def answer_rows(kind: Kind, shown: Iterable[Consensus]) -> list[dict[str, Any]]:
    rows = []
    for one in shown:
        if one.unit is None or not one.answer:
            continue
        said = kind.consensus_in_words(one.answer, unit=one.unit)
        rows.append(
            {
                "picture": picture_address(one.unit.item),
                "image": one.unit.item.name,
                "text": one.unit.first.text if one.unit.first else one.unit.content.get("text", ""),
                "said": said[:PIECES_SHOWN],
                "left": max(len(said) - PIECES_SHOWN, 0),
                "n": one.n,
            }
        )
    return rows
