"""Describe the result of comparing two sources (studies, or files of judgments) in a sentence or two."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from common.amounts import coefficient, thousands


def describe_compared_sources(result: dict[str, Any]) -> str:
    """Describe the most important result of ``compare_sources``.

    It is kappa of the consensus, kappa at the given or the best thresholds, or the correlation of scores: the first of
    these that is defined.
    """
    if not result["units"]["shared"]:
        return _("The two studies have no item in common, so their agreement is unknown.")
    consensus, grid = result["consensus"], result["thresholds"]
    if consensus["n"]:
        sentence = _(
            "Shared items with a consensus in both studies: %(n)s; with the same consensus: %(same)s"
        ) % {"same": thousands(consensus["same"]), "n": thousands(consensus["n"])}
        return f"{sentence}{_describe_kappa(consensus['kappa'])}."
    cells = [cell for cell in grid["cells"] if cell["kappa"]["value"] is not None]
    if len(grid["cells"]) == 1 and cells:
        cell = cells[0]
        sentence = _(
            "Items that reach the threshold, of %(n)s in all: %(first)s in the first study, %(second)s in the second "
            "study, %(both)s in both studies"
        ) % {
            "n": thousands(cell["n"]),
            "first": thousands(cell["both"] + cell["first_only"]),
            "second": thousands(cell["both"] + cell["second_only"]),
            "both": thousands(cell["both"]),
        }
        return f"{sentence}{_describe_kappa(cell['kappa'])}."
    if cells:
        best_cell = grid["best"]
        return _(
            "The highest kappa is %(kappa)s, at thresholds %(first)s of the first study and %(second)s of the second. "
            "The highest of several values (%(n)s) overestimates agreement. To report a kappa, choose the thresholds "
            "in advance."
        ) % {
            "kappa": _in_two_digits(best_cell["kappa"]["value"]),
            "first": f"{best_cell['first_at_least']:g}",
            "second": f"{best_cell['second_at_least']:g}",
            "n": len(grid["cells"]),
        }
    tau = result["correlation"]["kendall-tau-b"]
    if tau["value"] is not None:
        return _(
            "On the shared items, Kendall's tau-b between the scores is %(tau)s (n = %(n)s, 95 %% interval %(low)s to "
            "%(high)s)."
        ) % {
            "n": thousands(tau["n"]),
            "tau": _in_two_digits(tau["value"]),
            "low": _in_two_digits(tau["low"]),
            "high": _in_two_digits(tau["high"]),
        }
    reason = grid["reason"] or consensus["reason"]
    return _("The figures of this comparison are undefined: %(why)s.") % {"why": _(reason)}


def _describe_kappa(kappa: dict[str, Any]) -> str:
    if kappa["value"] is None:
        return _("; kappa is undefined")
    return _(
        "; Cohen's kappa is %(kappa)s (95 %% interval %(low)s to %(high)s; 0 is chance, 1 is full agreement)"
    ) % {
        "kappa": _in_two_digits(kappa["value"]),
        "low": _in_two_digits(kappa["low"]),
        "high": _in_two_digits(kappa["high"]),
    }


def _in_two_digits(value: float | None) -> str:
    return _("unknown") if value is None else coefficient(value)
