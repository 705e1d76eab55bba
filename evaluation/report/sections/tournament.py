"""Wins of systems against each other, by people and by metrics (V15 §7.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from evaluation.provenance import plain
from evaluation.report.content import Dots, Estimate, Level, Panel, Section, Table, level_of
from evaluation.report.inputs import ReportInputs
from evaluation.report.wording import plot, say, section, table
from evaluation.statistics.aggregation import TournamentResult, bradley_terry_of_comparisons, tournament
from evaluation.statistics.correlation import correlation
from evaluation.statistics.meta import metric_winners

MOST_SHOWN = 40
HUMAN = ("people", "human")  # captions of no system, with PASCAL-50S's name for them


def systems(inputs: ReportInputs) -> Section | None:
    """Show fractions of wins and Bradley-Terry strengths; None if no two systems meet."""
    rows = []
    for pair in inputs.consensus.pairs:
        one, two = inputs.systems[pair.key]
        found = inputs.consensus.of_pair[pair.pk]
        if one != two and (found.value is not None or found.tie):
            rows.append((pair.pk, one, two, found.value or 0, inputs.images[pair.pk]))
    if not rows:
        return None
    pks, first, second, winners, images = (list(column) for column in zip(*rows, strict=True))
    # Resample images: pairs of one image are dependent.
    people = tournament(first, second, winners, clusters=images, seed=inputs.seed)
    strengths = bradley_terry_of_comparisons(first, second, winners, tie_model="davidson")
    place_of = {str(name): place for place, name in enumerate(strengths.items.tolist())}
    order = people.order.tolist()
    names = [str(people.systems[place]) for place in order]
    won = [_fraction(people, place) for place in order]
    strength = []
    for name in names:
        at = place_of[name]
        strength.append(
            Estimate(plain(strengths.log_strength[at]), plain(strengths.low[at]), plain(strengths.high[at]))
        )
    counts = [(int(people.wins[at]), int(people.losses[at]), int(people.tied[at])) for at in order]
    data = table(
        "tournament",
        [(name, won[row], *counts[row], strength[row]) for row, name in enumerate(names)],
        resamples=people.resamples,
        reason=strengths.reason,
    )
    ceiling = say("tournament-ceiling" if set(names) & set(HUMAN) else "tournament-no-ceiling")
    sentence = say(
        "tournament", name=names[0], top=won[0], systems=len(names), comparisons=people.comparisons, ceiling=ceiling,
        most=MOST_SHOWN if len(names) > MOST_SHOWN else 0,
    )  # fmt: skip
    levels = (Level("even", 0.5), *_human(names, won))
    drawing = Dots(
        tuple(names[:MOST_SHOWN]),
        (Panel("won against the others", tuple(won[:MOST_SHOWN]), levels),),
        "comparisons won in %, 95 % interval",
        "share",
        names[0],
    )
    plots = [plot(sentence, drawing, data)]
    if not strengths.reason:
        shown = zip(names[:MOST_SHOWN], strength, strict=False)
        ranked = sorted(shown, key=lambda one: -(one[1].value or 0.0))
        levels = (Level("mean", 0.0), *_human(names, strength))
        drawing = Dots(
            tuple(name for name, _ in ranked),
            (Panel("", tuple(one for _, one in ranked), levels),),
            "log-strength, 95 % interval",
            "number",
            ranked[0][0],
        )
        caption = say("strengths", stronger=1 / (1 + np.exp(-1)), ceiling=ceiling)
        plots.append(plot(caption, drawing, data, "strengths", "Strengths of systems"))
    by_metrics = _by_metrics(inputs, pks, first, second, people)
    return section("tournament", [sentence], plots, [data, *([by_metrics] if by_metrics else [])])


def _human(names: Sequence[str], estimates: Iterable[Estimate]) -> list[Level]:
    rows = zip(names, estimates, strict=True)
    return [level for name, one in rows if name in HUMAN for level in level_of("human captions", one)]


def _fraction(found: TournamentResult, place: int) -> Estimate:
    n = int(found.wins[place] + found.losses[place] + found.tied[place])
    return Estimate(plain(found.fraction[place]), plain(found.low[place]), plain(found.high[place]), n)


def _by_metrics(
    inputs: ReportInputs, pks: list[int], first: list[str], second: list[str], people: TournamentResult
) -> Table | None:
    """Compute the same tournament by each metric, and correlate it with people's."""
    if inputs.pks is None or not inputs.scores:
        return None
    at = {pk: place for place, pk in enumerate(inputs.pks)}
    places = [at[pk] for pk in pks]
    order = people.order.tolist()
    rows: list[tuple[Any, ...]] = []
    for metric, scores in inputs.scores.items():
        winners = metric_winners(scores[places, 0], scores[places, 1])
        found = tournament(first, second, winners, resamples=0)
        r = correlation(people.fraction, found.fraction, "pearson", missing="leave-out", resamples=0)
        rows.append((metric, plain(r.value), r.n, *(plain(found.fraction[place]) for place in order)))
    rows.sort(key=lambda row: -(row[1] if row[1] is not None else -2.0))
    columns = [("metric", "text"), ("r", "coefficient"), ("systems", "count")]
    columns += [(f"{people.systems[place]}, %", "share") for place in order]
    return table("tournament-by-metrics", rows, columns)
