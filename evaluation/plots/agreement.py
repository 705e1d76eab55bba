"""Plot alpha with its interval, over all units and by pair kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.plots.canvas import (
    ROW,
    Dot,
    draw_coefficients,
    draw_level,
    to_svg,
)
from evaluation.statistics.agreement.alpha import NO_PAIRS

# Krippendorff's customary threshold for reliable conclusions.
RELIABLE = 0.8
NOTHING = "No two judges judged the same unit yet."


def agreement_figure(agreement: Mapping[str, Any], simulated: bool = False) -> str:
    """Plot alpha by level and pair kind; "" without data.

    ``agreement`` is that part of the result of ``aggregate_study``.
    """
    if not agreement or not agreement["alpha"]["n"]:
        return ""
    dots = [_dot(f"all units ({agreement['alpha']['level']})", agreement["alpha"], accent=True)]
    if "ordinal" in agreement:
        dots.append(_dot("all units (ordinal)", agreement["ordinal"]))
    dots += [_dot(kind, figure) for kind, figure in agreement.get("by_kind", {}).items()]
    figure, axes = draw_coefficients(
        dots,
        "Krippendorff's alpha, 95 % interval",
        height=0.85 + ROW * len(dots),
        left=0.04 + 0.0105 * max(len(dot.label) for dot in dots),
    )
    draw_level(axes, RELIABLE, "reliable from .80")
    spoken = "; ".join(f"{dot.label} {dot.value:.2f}" for dot in dots if dot.value is not None)
    return to_svg(
        figure,
        name="agreement",
        title="Agreement between judges",
        description=f"{agreement_sentence(agreement)} {spoken}.",
        simulated=simulated,
    )


def agreement_sentence(agreement: Mapping[str, Any]) -> str:
    if not agreement or not agreement["alpha"]["n"]:
        why = agreement["alpha"]["reason"] if agreement else ""
        return f"Agreement is not measured: {why.rstrip('.')}." if why not in ("", NO_PAIRS) else NOTHING
    alpha = agreement["alpha"]
    if alpha["value"] is None:
        return f"Agreement is undefined: {alpha['reason']}."
    sentence = (
        f"Judges agree with alpha {alpha['value']:.2f} (95 % interval {alpha['low']:.2f} to {alpha['high']:.2f}, "
        f"{alpha['level']}) on {alpha['n']:,} units with {alpha['judgments']:,} judgments; 0 is chance, "
        "1 full agreement."
    )
    kinds = {
        name: one["value"] for name, one in agreement.get("by_kind", {}).items() if one["value"] is not None
    }
    if len(kinds) > 1:
        worst, best = min(kinds, key=lambda name: kinds[name]), max(kinds, key=lambda name: kinds[name])
        sentence += (
            f" {best} pairs are clearest to them ({kinds[best]:.2f}), {worst} least ({kinds[worst]:.2f})."
        )
    return sentence


def _dot(label: str, figure: Mapping[str, Any], *, accent: bool = False) -> Dot:
    return Dot(label, figure["value"], figure["low"], figure["high"], accent=accent)
