"""The drawings of a board with the sentence that says what each means; made with the snapshot, as pages only show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.replayed import verdict_sentence


def draw(result: Mapping[str, Any], *, simulated: bool, stamp: str = "") -> dict[str, Any]:
    """``growth``: figure and sentence; ``kinds``: pair kind -> its two figures and their sentences.

    ``stamp``: the judgment signature of the judgments behind them, which stands at the foot of each figure.
    """
    # here and not above: matplotlib would cost each server process, and the start of every command, 60 MB and 0.3 s
    from evaluation.figures.board import earlier_figure, growth_figure, growth_sentence, metrics_figure
    from evaluation.figures.canvas import stamped

    known = [row for row in result["growth"] if row["value"] is not None]
    kinds: dict[str, Any] = {}
    found = result["evaluation"]
    for kind, cell in found["kinds"].items():
        settled, said = verdict_sentence(cell["verdict"])
        people = found["people"].get(kind)
        kinds[kind] = {
            "now": stamped(
                metrics_figure(
                    kind,
                    cell["metrics"],
                    people,
                    leaders=cell["verdict"]["leaders"],
                    correlated=found["correlated"],
                    simulated=simulated,
                ),
                stamp,
            ),
            "settled": settled,
            "said": said,
            "earlier": stamped(
                earlier_figure(kind, cell["earlier"], correlated=found["correlated"], simulated=simulated),
                stamp,
            ),
            "n": cell["verdict"]["n"],
        }
    return {
        "growth": stamped(growth_figure(known, simulated=simulated), stamp) if len(known) > 1 else "",
        "growth_said": growth_sentence(known),
        "kinds": kinds,
    }
