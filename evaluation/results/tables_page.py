"""Tables and plots of the page "Results"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from django.core.cache import cache
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from common.amounts import coefficient, thousands
from evaluation.disagreement import WORKER_MODELS
from evaluation.models import Consensus
from evaluation.report.content import percent, percent_number
from evaluation.results.consensus import SIDES_IN_WORDS
from evaluation.results.metric_figures import pair_kinds
from evaluation.results.rankings import CUTS
from evaluation.statistics.aggregation.preferences import SURE
from judgments.admin.base import picture_address
from judgments.drawing.material import content_key
from judgments.kinds.base import Kind
from judgments.kinds.pairs import HOW_SURE

DAY = 86_400
Drawn = TypeVar("Drawn")
ENOUGH = 20  # judgments from which a habit is worth a note
ONE_SIDE = 0.9
CAPTIONS_AT_AN_END = 5
VALUES_SHOWN = 6
TEXTS_SHOWN = 3
PIECES_SHOWN = 10
MODEL_ROWS_SHOWN = 8
MODEL_WORKERS_SHOWN = 50
MODEL_COLUMNS = {
    "mace": {"competence": gettext_noop("Competence (MACE)")},
    "glad": {"ability": gettext_noop("Ability (GLAD)")},
    "response": {"ability": gettext_noop("Ability (response model)")},
}
SYSTEM_HEADS = {
    "mean": gettext_noop("Mean"),
    "z": gettext_noop("Mean z"),
    "describes": gettext_noop("Describe the image"),
}
SUCCESS = tuple(f"S@{k}" for k in CUTS)
RECALL = tuple(f"R@{k}" for k in CUTS)
COEFFICIENT_NAMES = {
    "percent-agreement": gettext_noop("Percent agreement, no chance taken off"),
    "fleiss-kappa": gettext_noop("Fleiss’ kappa, each disagreement alike"),
    "gwet-ac1": gettext_noop("Gwet’s AC1"),
    "gwet-ac2": gettext_noop("Gwet’s AC2, {weights} weights"),
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


def coefficient_rows(agreement: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {**one, "label": _(label).format(weights=one["weights"])}
        for one in agreement.get("coefficients", {}).values()
        if one["n"] and (label := COEFFICIENT_NAMES[one["statistic"]])
    ]


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


def accuracy_table(result: Mapping[str, Any]) -> dict[str, Any]:
    found = result["metrics"]
    columns = _kinds_of({name: figures["accuracy"] for name, figures in found.items()})
    rows = [
        {
            "name": name,
            "order": (figures["accuracy"].get(columns[-1]) or {}).get("value") or 0.0,
            "cells": [_share_cell(figures["accuracy"].get(kind)) for kind in columns],
        }
        for name, figures in found.items()
    ]
    rows.sort(key=lambda row: -row["order"])
    people = {} if "halves" in result else result.get("people") or {}
    return {
        "columns": columns,
        "rows": rows,
        "people": [_share_cell(people.get(kind)) for kind in columns] if people else [],
    }


def reading_tables(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = result.get("readings", {})
    tables = []
    if "all_pairs" in found:
        kinds = _kinds_of(found["all_pairs"])
        rows = [
            {"name": name, "cells": [_share_cell(cells[kind]) for kind in kinds]}
            for name, cells in found["all_pairs"].items()
        ]
        title = gettext_noop("Accuracy over all pairs; one without a consensus is right by half")
        tables.append({"title": title, "columns": kinds, "rows": rows})
    if "references" in found:
        kinds = _kinds_of(found["references"])
        rows = [
            {
                "name": f"{name}, {row['references']}",
                "cells": [_share_cell(cells[kind][at]) for kind in kinds],
            }
            for name, cells in found["references"].items()
            for at, row in enumerate(cells[kinds[-1]])
        ]
        title = gettext_noop("Accuracy by number of references, mean over random subsets of them")
        tables.append({"title": title, "columns": kinds, "rows": rows})
    coefficients: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
        "tau_c": (gettext_noop("Kendall’s tau-c with people"), lambda one: {"tau-c": one}),
        "ties": (
            gettext_noop(
                "With ties: a metric's tie is right where people see no difference; soft: pairs of systems"
            ),
            lambda one: {
                "no gap": one["plain"],
                "best gap": one["calibrated"],
                "soft": one["soft"],
            },
        ),
        "single_grades": (
            gettext_noop("With every single judgment instead of the mean; intervals over images"),
            lambda one: {"tau-b": one["kendall_tau_b"], "tau-c": one["kendall_tau_c"]},
        ),
        "own_kept": (
            gettext_noop("With references that are equal to the caption"),
            lambda one: {"tau-b": one["kendall_tau_b"], "rho": one["spearman"]} | _best_kappa(one["kappa"]),
        ),
        "thresholds": (gettext_noop("Kappa at the thresholds asked for"), _best_kappa),
    }
    for name, (title, columns_of) in coefficients.items():
        if name in found:
            cells_of = {metric: columns_of(one) for metric, one in found[name].items()}
            columns = list(next(iter(cells_of.values())))
            rows = [
                {"name": metric, "cells": [_coefficient_cell(cells[column]) for column in columns]}
                for metric, cells in cells_of.items()
            ]
            tables.append({"title": title, "columns": columns, "rows": rows})
    return tables


def _kinds_of(reading: Mapping[str, Mapping[str, Any]]) -> list[str]:
    names = {kind for cells in reading.values() for kind in cells}
    return pair_kinds(names) + (["all"] if "all" in names else [])


def _best_kappa(cells: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any] | None]:
    known = [cell for cell in cells if cell["value"] is not None]
    return {"best kappa": max(known, key=lambda cell: cell["value"], default=None)}


def caption_systems(systems: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if not systems or "describes" not in systems[0]:
        return {}
    names = [name for name in SYSTEM_HEADS if name in systems[0]]
    rows = [
        {
            "system": row["system"],
            "captions": row["captions"],
            "images": row["images"],
            "cells": [
                (_share_cell if name == "describes" else _coefficient_cell)(row[name]) for name in names
            ],
        }
        for row in sorted(systems, key=lambda row: -row[names[0]]["value"])
    ]
    return {"columns": [_(SYSTEM_HEADS[name]) for name in names], "rows": rows}


def ranking_tables(rankings: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "task": task,
            "rows": [
                {
                    "system": row["system"],
                    "queries": row["R-precision"]["n"],
                    "nothing": row["nothing_relevant"],
                    "cells": [_share_cell(row[name]) for name in (*SUCCESS, "R-precision")],
                    "unjudged": row[SUCCESS[-1]]["unjudged"],
                    "best": row["R-precision"]["best_case"],
                }
                for row in rows
            ],
            "success": SUCCESS,
            "recall": RECALL,
            "originals": [
                {
                    "system": row["system"],
                    "queries": row["original"]["queries"],
                    "cells": [_share_cell(row["original"][name]) for name in RECALL],
                    "median": row["original"]["median_rank"],
                }
                for row in rows
                if "original" in row
            ],
        }
        for task, rows in rankings.items()
    ]


def _share_cell(figure: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if figure is None or figure["value"] is None:
        return None
    low, high = figure["low"], figure["high"]
    return {
        "value": percent(figure["value"]),
        "range": _range(percent_number(low), percent(high)) if low is not None else "",
        "n": figure["n"],
    }


def _coefficient_cell(figure: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if figure is None or figure["value"] is None:
        return None
    return {"value": coefficient(figure["value"]), "range": _interval_in_words(figure), "n": figure["n"]}


def _interval_in_words(figure: Mapping[str, Any]) -> str:
    low, high = figure["low"], figure["high"]
    return "" if low is None or high is None else _range(coefficient(low), coefficient(high))


def _range(low: str, high: str) -> str:
    return _("%(low)s to %(high)s") % {"low": low, "high": high}


def correlation_table(result: Mapping[str, Any]) -> dict[str, Any]:
    found = result["metrics"].values()
    within = any("per_image" in figures for figures in found)
    kappas = any(figures["kappa"] for figures in found)
    rows = []
    for name, figures in result["metrics"].items():
        tau, rho = figures["kendall_tau_b"], figures["spearman"]
        cells = [tau, rho]
        if within:
            cells.append(figures["per_image"]["kendall_tau_b"])
        if kappas:
            cells += _best_kappa(figures["kappa"]).values()
        rows.append(
            {"name": name, "order": tau["value"] or 0.0, "cells": [_coefficient_cell(one) for one in cells]}
        )
    rows.sort(key=lambda row: -row["order"])
    columns = [_("Kendall's tau-b"), _("Spearman's rho")]
    columns += [_("tau-b within images")] if within else []
    columns += [_("best kappa")] if kappas else []
    return {"columns": columns, "rows": rows, "people": [], "share": False}


def caption_table(figures: Mapping[str, Any]) -> dict[str, Any]:
    rows = sorted(figures.get("captions", ()), key=lambda row: -row["score"])
    if not rows:
        return {}
    ends = (
        rows
        if len(rows) <= 2 * CAPTIONS_AT_AN_END
        else rows[:CAPTIONS_AT_AN_END] + rows[-CAPTIONS_AT_AN_END:]
    )
    worst = all("worst" in row for row in rows)
    half = figures.get("split_half", {})
    reliable = half.get("spearman")
    return {
        "rows": [
            row | {"shown_score": f"{row['score']:+.2f}" if worst else percent(row["score"])} for row in ends
        ],
        "worst": worst,
        "count": len(rows),
        "left": len(rows) - len(ends),
        "splits": half.get("splits"),
        "reliability": None if reliable is None else coefficient(reliable),
    }


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


def question_rows(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for one in figures.get("questions", ()):
        alpha = one.get("alpha")
        row = {
            "name": one["name"],
            "label": one["label"],
            "answered": one["answered"],
            "said": _answers_in_words(one),
        }
        if alpha is not None:
            row |= {
                "alpha": None if alpha["value"] is None else coefficient(alpha["value"]),
                "range": _interval_in_words(alpha),
                "level": alpha["level"],
                "reason": alpha["reason"],
            }
        rows.append(row)
    return rows


def _answers_in_words(one: Mapping[str, Any]) -> list[str]:
    if "votes" in one:
        votes = list(one["votes"].items())
        said = [f"{value}: {thousands(count)}" for value, count in votes[:VALUES_SHOWN]]
        left = one["different"] - len(said)
        said += [_("%(n)s more") % {"n": thousands(left)}] if left > 0 else []
        return said or ([_("none was ticked")] if one["answered"] else [])
    if "texts" in one:
        said = [f"“{text if len(text) <= 80 else text[:79] + '…'}”" for text in one["texts"][:TEXTS_SHOWN]]
        left = one["different"] - len(said)
        return said + ([_("%(n)s more") % {"n": thousands(left)}] if left > 0 else [])
    if one["mean"] is None:
        return []
    return [
        _("mean %(value)s") % {"value": f"{one['mean']:.2f}"},
        _("median %(value)s") % {"value": f"{one['median']:g}"},
        _range(f"{one['low']:g}", f"{one['high']:g}"),
    ]
