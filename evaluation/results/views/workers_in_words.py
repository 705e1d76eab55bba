"""Describe participants and the models of their answers in sentences and rows, for the page "Results"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from common.amounts import percent, thousands
from evaluation.results.consensus.study import SIDE_LABELS
from evaluation.results.worker_models import WORKER_MODELS
from judgments.admin.addresses import picture_address
from judgments.kinds import KINDS
from judgments.kinds.pairs.answers import CONFIDENCE_CHOICES
from judgments.models import Study
from quorum.statistics.aggregation.pair_answers import SURE

# A note says that a worker nearly always chooses one side if the share is this high among at least so many judgments.
SIDE_SHARE = 0.9
MIN_JUDGMENTS_FOR_NOTE = 20


def worker_note(row: Mapping[str, Any], pass_mark: Any) -> str:
    """Return notes on a participant; "" if there are none. ``row`` is one of the aggregation's ``workers``."""
    notes = []
    if not row["used"]:
        note = _("excluded")
        # `pass_mark` is a text for imported judgments, and None in older results.
        if isinstance(pass_mark, float | int) and row["controls_seen"] and row["controls_share"] < pass_mark:
            note = _("not used: below the pass mark of %(share)s") % {"share": percent(pass_mark)}
        notes.append(note)
    left_share = row["left_share"]
    if left_share is not None and row["judgments"] >= MIN_JUDGMENTS_FOR_NOTE:
        if left_share >= SIDE_SHARE:
            notes.append(_("nearly always chooses left"))
        elif left_share <= 1 - SIDE_SHARE:
            notes.append(_("nearly always chooses right"))
    return "; ".join(notes)


def model_sentence(model: Mapping[str, Any]) -> str:
    """Say whether the consensus changes if answers are combined by Dawid and Skene's model; "" if there is no model."""
    if not model or model["reason"] or not model["compared"]:
        return ""
    differ, ties = model["differ"], model["breaks_ties"]
    if not differ and not ties:
        return _(
            "No. A model that weights participants by their accuracy gives the same answers on all judged items "
            "(%(n)s)."
        ) % {"n": thousands(model["compared"])}
    sentence = _(
        "Yes. A model that weights participants by their accuracy differs from the consensus. Judged items on which "
        "it differs: %(differ)s of %(n)s."
    )
    if ties:
        sentence += " " + _("Number of ties that it decides: %(ties)s.")
    sentence %= {"differ": thousands(differ), "n": thousands(model["compared"]), "ties": thousands(ties)}
    if model["converged"]:
        return sentence
    caution = _("The model did not converge; treat this result with caution.")
    return f"{sentence} {caution}"


# Parameters of workers that the page shows, by model, with the heading of the column.
MODEL_COLUMNS = {
    "mace": {"competence": gettext_noop("Competence (MACE)")},
    "glad": {"ability": gettext_noop("Ability (GLAD)")},
    "response": {"ability": gettext_noop("Ability (response model)")},
}
MODEL_WORKERS_SHOWN = 50


def other_models(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the template context of models other than Dawid and Skene's.

    In it, ``models`` are sentences on each model. ``rows`` have a row for each participant, with a cell for each of
    ``columns``.
    """
    model_entries: list[dict[str, str]] = []
    columns: list[str] = []
    cells_by_worker: dict[str, dict[int, Any]] = {}
    for name, model in models.items():
        if model["reason"]:
            sentence = _(model["reason"])
        elif "differ" in model:
            sentence = _(
                "Items on which the model differs from the consensus: %(differ)s of %(n)s. Number of ties that it "
                "decides: %(ties)s."
            ) % {
                "differ": thousands(model["differ"]),
                "n": thousands(model["compared"]),
                "ties": thousands(model["breaks_ties"]),
            }
        else:  # the item response model, which gives items no values to compare
            sentence = _(
                "Answers to which the model was fitted: %(n)s. An answer counts as right if it agrees with the "
                "majority of the other answers to its item."
            ) % {"n": thousands(model["answers"])}
        if model.get("levels"):
            sentence = f"{sentence} {_describe_levels(model['levels'])}"
        model_entries.append(
            {"name": _(WORKER_MODELS[name]), "sentence": sentence, "note": model.get("note", "")}
        )
        for parameter, heading in MODEL_COLUMNS.get(name, {}).items():
            columns.append(_(heading))
            for row in model.get("workers", ()):
                cells_by_worker.setdefault(row["worker"], {})[len(columns) - 1] = row[parameter]
    rows = [
        {"worker": worker, "cells": [cells.get(index) for index in range(len(columns))]}
        for worker, cells in sorted(cells_by_worker.items())
    ]
    return {"models": model_entries, "columns": columns, "rows": rows[:MODEL_WORKERS_SHOWN]}


def _describe_levels(levels: Sequence[Mapping[str, Any]]) -> str:
    # The values of choices are multiples of SURE; levels are 0, 1, 2 and 3.
    labels = {0: _("not given"), **{choice.value // SURE: _(choice.text) for choice in CONFIDENCE_CHOICES}}
    shares = [
        f"{labels[row['level']]}: {percent(row['right'] / row['compared'])} ({thousands(row['compared'])})"
        for row in levels
        if row["compared"]
    ]
    return _("Agreement with the majority of the other participants, by confidence: %(levels)s.") % {
        "levels": ", ".join(shares)
    }


MODEL_ROWS_SHOWN = 8


def model_rows(study: Study, model: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the items on which a model of sides, or of yes and no, differs from the consensus (``differing``)."""
    labels = SIDE_LABELS if KINDS[study.protocol].two_sided else {0: _("no"), 1: _("yes")}
    differing_rows = model.get("differing", [])[:MODEL_ROWS_SHOWN]
    judged_units = study.units.select_related("item__dataset", "reference", "first", "second")
    units = {unit.key: unit for unit in judged_units.filter(key__in=[row["unit"] for row in differing_rows])}
    return [
        {
            "unit": units[row["unit"]],
            "picture": picture_address(units[row["unit"]].item),
            "consensus": labels[int(row["consensus"])],
            "votes": ", ".join(f"{labels[int(value)]} {n}" for value, n in row["votes"].items() if n),
            "value": labels[int(row["value"])],
            "probability": row["probability"],
        }
        for row in differing_rows
        if row["unit"] in units
    ]
