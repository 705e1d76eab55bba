"""The section about systems: who wins against whom, by people and by metrics (V15 §7.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from evaluation.provenance import plain
from evaluation.reports.content import Column, Dots, Figure, Level, Panel, Plot, Section, Table, plain_table
from evaluation.reports.gathered import Gathered
from evaluation.statistics.aggregation import TournamentResult, bradley_terry_of_comparisons, tournament
from evaluation.statistics.correlation import correlation
from evaluation.statistics.meta import metric_winners

LEAST_SYSTEMS = 2
MOST_SHOWN = 40
TITLE = "Tournament of systems"
HUMAN = ("people", "human")  # captions of no system, and what PASCAL-50S calls them
CEILING = "Ceiling: captions that people wrote."
NO_HUMANS = "No ceiling is drawn: no captions that people wrote took part."


def systems(gathered: Gathered) -> Section | None:
    """Fractions of wins and Bradley-Terry strengths; None where no two systems meet."""
    of_pair = gathered.systems
    item = gathered.images  # pairs of one image are no independent evidence
    rows = []
    for pair in gathered.consensus.pairs:
        one, two = of_pair[pair.key]
        found = gathered.consensus.of_pair[pair.pk]
        if one != two and (found.value is not None or found.tie):
            rows.append((pair.pk, one, two, found.value or 0, item[pair.pk]))
    if not rows:
        return None
    pks, first, second, winners, images = (list(column) for column in zip(*rows, strict=True))
    seed = gathered.seed
    people = tournament(first, second, winners, clusters=images, seed=seed)
    strengths = bradley_terry_of_comparisons(first, second, winners, tie_model="davidson")
    order = people.order.tolist()
    names = [str(name) for name in people.systems.tolist()]
    strength_of = {str(name): place for place, name in enumerate(strengths.items.tolist())}
    table_rows: list[tuple[Any, ...]] = []
    for place in order:
        at = strength_of[names[place]]
        table_rows.append(
            (
                names[place],
                _fraction(people, place),
                int(people.wins[place]),
                int(people.losses[place]),
                int(people.tied[place]),
                Figure(
                    plain(strengths.log_strength[at]), plain(strengths.low[at]), plain(strengths.high[at])
                ),
            )
        )
    note = (
        f"Fraction of comparisons won, a tie half a win; 95 % intervals from {people.resamples:,} resamples of images. "
        "Bradley-Terry: log-strengths around 0, ties by Davidson's model"
    )
    note += f"; undefined: {strengths.reason}." if strengths.reason else "."
    table = Table(
        "tournament",
        TITLE,
        (
            Column("system"), Column("won, %", "share"), Column("wins", "count"), Column("losses", "count"),
            Column("ties", "count"), Column("log-strength", "coefficient"),
        ),
        tuple(table_rows),
        note,
    )  # fmt: skip
    tables = [table]
    human = [place for place, name in enumerate(names) if name in HUMAN]
    levels = [Level("even", 0.5), *_levels(_fraction(people, place) for place in human)]
    panels = [
        Panel(
            "won against the others",
            tuple(_fraction(people, place) for place in order[:MOST_SHOWN]),
            tuple(levels),
        )
    ]
    shown = tuple(names[place] for place in order[:MOST_SHOWN])
    best = names[order[0]]
    top = _fraction(people, order[0])
    sentence = f"{best} wins {100 * (top.value or 0):.1f} % of its comparisons by people's consensus"
    if top.low is not None and top.high is not None:
        sentence += f" (95 % interval {100 * top.low:.1f} to {100 * top.high:.1f} %)"
    sentence += f"; {len(names)} systems met {people.comparisons:,} times."
    if len(order) > len(shown):
        sentence += f" The {len(shown)} that win most are drawn."
    sentence += f" {CEILING if human else NO_HUMANS}"
    by_metrics = _by_metrics(gathered, pks, first, second, people)
    if by_metrics is not None:
        tables.append(by_metrics)
    plots = [
        Plot(
            "tournament",
            TITLE,
            sentence,
            Dots(shown, tuple(panels), "comparisons won in %, 95 % interval", "share", best),
            table,
        )
    ]
    if not strengths.reason:
        of_people = [row[5] for row in table_rows if row[0] in HUMAN]
        plots.append(_strengths(table_rows[:MOST_SHOWN], table, _levels(of_people)))
    return Section("tournament", TITLE, (sentence,), tuple(plots), tuple(tables))


def _levels(figures: Iterable[Figure]) -> list[Level]:
    """The ceiling, where it is known."""
    return [
        Level("human captions", one.value, dashed=False, low=one.low, high=one.high)
        for one in figures
        if one.value is not None
    ]


def _strengths(rows: list[tuple[Any, ...]], table: Table, human: list[Level]) -> Plot:
    ranked = sorted(rows, key=lambda row: -row[5].value)
    sentence = (
        "Bradley-Terry log-strengths; a difference of 1 means that the stronger wins "
        f"{100 / (1 + np.exp(-1)):.0f} % of "
        f"the comparisons that one of them wins. {CEILING if human else NO_HUMANS}"
    )
    drawing = Dots(
        tuple(row[0] for row in ranked),
        (Panel("", tuple(row[5] for row in ranked), (Level("mean", 0.0), *human)),),
        "log-strength, 95 % interval",
        "number",
        ranked[0][0],
    )
    return Plot("strengths", "Strengths of systems", sentence, drawing, table)


def _fraction(found: TournamentResult, place: int) -> Figure:
    n = int(found.wins[place] + found.losses[place] + found.tied[place])
    return Figure(plain(found.fraction[place]), plain(found.low[place]), plain(found.high[place]), n)


def _by_metrics(
    gathered: Gathered, pks: list[int], first: list[str], second: list[str], people: TournamentResult
) -> Table | None:
    """The same tournament by each metric, and its correlation with people's."""
    if gathered.pks is None or not gathered.scores:
        return None
    at = {pk: place for place, pk in enumerate(gathered.pks)}
    places = [at[pk] for pk in pks]
    rows: list[tuple[Any, ...]] = []
    names = [str(name) for name in people.systems.tolist()]
    for metric, scores in gathered.scores.items():
        winners = metric_winners(scores[places, 0], scores[places, 1])
        found = tournament(first, second, winners, resamples=0)
        r = correlation(people.fraction, found.fraction, "pearson", missing="leave-out", resamples=0)
        rows.append(
            (metric, plain(r.value), r.n, *(plain(found.fraction[place]) for place in people.order.tolist()))
        )
    rows.sort(key=lambda row: -(row[1] if row[1] is not None else -2.0))
    columns = [("metric", "text"), ("r", "coefficient"), ("systems", "count")]
    columns += [(f"{names[place]}, %", "share") for place in people.order.tolist()]
    return plain_table(
        "tournament-by-metrics",
        "The tournament by metrics",
        columns,
        rows,
        "Fraction of comparisons each system wins by the metric, a tie half a win; r: Pearson's correlation with the "
        "fractions by people (V15 §7.3).",
    )
