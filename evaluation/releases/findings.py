"""What a release's rows say: consensus, agreement, workers, metrics. The same for whoever writes a bundle and for
whoever verifies one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.quality import control_records
from evaluation.aggregation import (
    NO_ONE,
    PairConsensus,
    measure_agreement,
    pair_consensus,
    unit_consensus,
    with_decisions,
    worker_table,
)
from evaluation.meta_evaluation import accuracy_of_pairs, correlation_of_captions
from evaluation.records import Decision, PairRow, UnitRow
from evaluation.releases.released import ReleasedRows, Settings
from judgments.kinds import Consensus


@dataclass(frozen=True, slots=True)
class Findings:
    """What the bundle's files say of its rows.

    Attributes:
        consensus: of units, then of pairs.
        metrics: metric -> its figures against people; empty where no metric was held against them.
    """

    consensus: list[dict[str, Any]]
    agreement: dict[str, Any]
    workers: list[dict[str, Any]]
    metrics: dict[str, Any]
    counts: dict[str, int]
    signature: str

    def analyses(self) -> dict[str, Any]:
        """What ``analyses.json`` holds."""
        return {
            "signature": self.signature,
            "counts": self.counts,
            "agreement": self.agreement,
            "metrics": self.metrics,
        }

    def figures(self) -> dict[str, Any]:
        """Name -> the numbers of a figure, which stand beside it."""
        found: dict[str, Any] = {"agreement": self.agreement, "workers": self.workers}
        return found | ({"metrics": {"metrics": self.metrics}} if self.metrics else {})


def find(rows: ReleasedRows) -> Findings:
    """Everything that follows from the rows, once all were taken in."""
    settings, kind = rows.settings, rows.settings.kind
    table = rows.table()
    numbers = {row["pair"]: number for number, row in enumerate(rows.pairs)}
    judged = {number: row for number, row in enumerate(rows.units) if not row["control"]}
    units = [
        UnitRow(number, row["unit"], row["kind"] or "", numbers[row["pair"]] if row["pair"] else None)
        for number, row in judged.items()
    ]
    pairs = [
        PairRow(number, row["pair"], row["kind"] or "", row["first"], row["second"], row["published_winner"])
        for number, row in enumerate(rows.pairs)
    ]
    decisions = {
        number: Decision(value=row["decided"], by="", at="", reason="", votes={})
        for number, row in judged.items()
        if row["decided"] is not None
    }
    of_unit = with_decisions(unit_consensus(kind, table), decisions)
    of_pair = pair_consensus(units, pairs, of_unit)
    people = rows.people()
    full_depth = (
        {number for number, row in judged.items() if row["full_depth"]} if settings.full_depth else None
    )
    records = control_records(rows.on_controls(), threshold=settings.threshold, is_right=kind.is_right)
    workers = worker_table(table, people, records, rows.wall_times())
    return Findings(
        consensus=[
            *(_of_unit(rows, unit, of_unit.get(unit.pk, NO_ONE), decided=unit.pk in decisions) for unit in units),
            *(_of_pair(pair, of_pair[pair.pk]) for pair in pairs),
        ],
        agreement=measure_agreement(
            kind, table, units, people, rows.judged(table) if kind.is_open else [],
            seed=settings.seed, full_depth=full_depth,
        ),
        workers=workers,
        metrics=_metrics(rows, settings, of_unit, of_pair),
        counts={
            "judgments": rows.judgments,
            "invalidated": rows.invalidated,
            "counted": int(table.counted.sum()),
            "units": len(units),
            "control_items": len(rows.units) - len(units),
            "pairs": len(pairs),
            "workers": len(people),
        },
        signature=rows.signature(),
    )  # fmt: skip


def _of_unit(rows: ReleasedRows, unit: UnitRow, found: Consensus, *, decided: bool) -> dict[str, Any]:
    kind, row = rows.settings.kind, rows.units[unit.pk]
    answer = found.answer
    if answer is not None:
        answer = kind.exported(answer, content=row["content"] or {})
    return {
        "unit": unit.key,
        "pair": row["pair"],
        "kind": row["kind"],
        "n": found.n,
        "value": found.value,
        "share": found.share,
        "margin": found.margin,
        "tie": found.tie,
        "votes": dict(found.votes),
        "answer": answer,
        "source": "adjudicated" if decided else "judgments",
    }


def _of_pair(pair: PairRow, found: PairConsensus) -> dict[str, Any]:
    return {
        "unit": None,
        "pair": pair.key,
        "kind": pair.kind or None,
        "n": found.wins + found.losses + found.ties,
        "value": found.value,
        "share": None,
        "margin": None,
        "tie": found.tie,
        "votes": {"wins": found.wins, "losses": found.losses, "ties": found.ties},
        "answer": None,
        "source": "published" if found.published else "judgments",
    }


def _metrics(
    rows: ReleasedRows,
    settings: Settings,
    of_unit: Mapping[int, Consensus],
    of_pair: Mapping[int, PairConsensus],
) -> dict[str, Any]:
    """Each metric's figures from its released scores."""
    scores: dict[str, dict[str, tuple[float, float]]] = {}
    for row in rows.scores:
        scores.setdefault(row["metric"], {})[row["pair"] or row["unit"]] = (
            row["first"],
            row["second"] or 0.0,
        )
    if not settings.kind.compares_pairs:
        return {name: _of_captions(rows, settings, own, of_unit) for name, own in scores.items()}
    winners = [of_pair[number].value or 0 for number in range(len(rows.pairs))]
    found = {}
    for name, own in scores.items():
        both = np.array([own[row["pair"]] for row in rows.pairs], dtype=np.float64).reshape(-1, 2)
        kinds = [row["kind"] or "" for row in rows.pairs]
        found[name] = accuracy_of_pairs(both[:, 0], both[:, 1], winners, kinds)
    return found


def _of_captions(
    rows: ReleasedRows,
    settings: Settings,
    own: Mapping[str, tuple[float, float]],
    of_unit: Mapping[int, Consensus],
) -> dict[str, Any]:
    """Of the units that were scored: people's share of the answer where it has one, else their mean."""
    images: dict[str, int] = {}
    metric, people, places, texts = [], [], [], []
    for number, row in enumerate(rows.units):
        if row["control"] or row["unit"] not in own:
            continue
        found = of_unit[number]
        said = found.value if found.share is None or row["decided"] is not None else found.share
        metric.append(own[row["unit"]][0])
        people.append(np.nan if said is None else float(said))
        places.append(images.setdefault(row["image"], len(images)))
        texts.append(row["first"])
    return correlation_of_captions(
        np.array(metric), np.array(people), places, texts,
        cuts=settings.kind.people_cuts, per_image=settings.kind.per_image, seed=settings.seed,
    )  # fmt: skip
