"""Tables of the variants that an evaluation computes on request in addition to the usual figures.

``EvaluationOptions`` explains the variants. A stored result has them under the key ``readings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.presentation import rendering
from evaluation.presentation.content import Cell, Table, estimate_of
from evaluation.results.metrics.tables import generalises_to_raters, longer_tables, share_columns

# Names of the coefficients of each variant, by their key in the result. The variant "tau_c" has a single coefficient.
COEFFICIENTS_BY_VARIANT = {
    "single_grades": {"kendall_tau_b": "tau-b", "kendall_tau_c": "tau-c"},
    "own_kept": {"kendall_tau_b": "tau-b", "spearman": "rho"},
}


def tables_beside_metrics(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables that the page and the command show next to the table of metrics."""
    return [*longer_tables(result), *variant_tables(result), *ties_tables(result)]


def variant_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables of the requested variants, but not that of ties."""
    variants: Mapping[str, Any] = result.get("readings", {})
    with_raters = generalises_to_raters(result)  # for the note of each table
    tables = (
        _all_pairs_table(variants, with_raters),
        _references_table(variants, with_raters),
        _coefficients_table(variants, with_raters),
        _thresholds_table(variants, with_raters),
    )
    return [table for table in tables if table is not None]


def _all_pairs_table(variants: Mapping[str, Any], with_raters: bool) -> Table | None:
    if "all_pairs" not in variants:
        return None
    kinds = list(next(iter(variants["all_pairs"].values())))  # every metric has the same pair kinds
    rows = [
        (name, *(estimate_of(cells[kind]) for kind in kinds)) for name, cells in variants["all_pairs"].items()
    ]
    return rendering.table("readings-all-pairs", rows, share_columns("metric", kinds), raters=with_raters)


def _references_table(variants: Mapping[str, Any], with_raters: bool) -> Table | None:
    if "references" not in variants:
        return None
    rows: list[tuple[Cell, ...]] = []
    for name, curves_by_kind in variants["references"].items():
        for kind, curve in curves_by_kind.items():
            rows += [(kind, name, point["references"], estimate_of(point), point["draws"]) for point in curve]
    return rendering.table("readings-references", rows, raters=with_raters)


def _coefficients_table(variants: Mapping[str, Any], with_raters: bool) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for metric, figure in variants.get("tau_c", {}).items():
        label = rendering.render_sentence("reading", name="tau_c")
        rows.append((metric, label, "tau-c", estimate_of(figure)))
    for variant, coefficients in COEFFICIENTS_BY_VARIANT.items():
        label = rendering.render_sentence("reading", name=variant)
        for metric, figures in variants.get(variant, {}).items():
            for key, coefficient in coefficients.items():
                rows.append((metric, label, coefficient, estimate_of(figures[key])))
    return rendering.table("readings-coefficients", rows, raters=with_raters) if rows else None


def _thresholds_table(variants: Mapping[str, Any], with_raters: bool) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for metric, kappas in variants.get("thresholds", {}).items():
        rows += [
            (metric, kappa["metric_at_least"], kappa["people_at_least"], estimate_of(kappa))
            for kappa in kappas
        ]
    return rendering.table("readings-thresholds", rows, raters=with_raters) if rows else None


def ties_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the table of metrics' accuracies with ties, which reports do not have, or [] if it was not requested."""
    ties = result.get("readings", {}).get("ties", {})
    rows = [  # ties: equal scores, or those within the gap of highest accuracy; "soft": soft pairwise, between systems
        (name, *(estimate_of(accuracies[key]) for key in ("plain", "calibrated", "soft")))
        for name, accuracies in ties.items()
    ]
    return [rendering.table("readings-ties", rows)] if rows else []
