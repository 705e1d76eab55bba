"""What a release's rows say: consensus, agreement, workers, metrics, and the sections of its report. The same for
whoever writes a bundle and for whoever verifies one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evaluation.records import PairRow, UnitRow
from evaluation.releases.gathered import gather_released
from evaluation.releases.released import ReleasedRows
from evaluation.reports.content import Section
from evaluation.reports.gathered import Gathered
from evaluation.reports.hypotheses import Registered
from evaluation.reports.sections import sections_of
from evaluation.results.consensus import NO_ONE, PairConsensus
from judgments.kinds import Consensus


@dataclass(frozen=True, slots=True)
class Findings:
    """What the bundle's files say of its rows.

    Attributes:
        metrics: metric -> its figures against people; empty where no metric was held against them.
        sections: of the report, every figure and table in them with its numbers.
        outcomes: what became of the registered plan, as ``outcomes.json`` holds it; None without one.
    """

    rows: ReleasedRows
    agreement: dict[str, Any]
    workers: list[dict[str, Any]]
    metrics: dict[str, Any]
    counts: dict[str, int]
    signature: str
    gathered: Gathered
    sections: list[Section]
    outcomes: dict[str, Any] | None = None

    def consensus(self) -> Iterator[dict[str, Any]]:
        """The rows of ``consensus.jsonl``: units, then pairs."""
        found = self.gathered.consensus
        for unit in found.units:
            decided = unit.pk in found.decisions
            yield _of_unit(self.rows, unit, found.of_unit.get(unit.pk, NO_ONE), decided=decided)
        for pair in found.pairs:
            yield _of_pair(pair, found.of_pair[pair.pk])

    def analyses(self) -> dict[str, Any]:
        """What ``analyses.json`` holds."""
        return {
            "signature": self.signature,
            "counts": self.counts,
            "agreement": self.agreement,
            "metrics": self.metrics,
        }


def find(rows: ReleasedRows, registered: Registered | None = None) -> Findings:
    """Everything that follows from the rows, once all were taken in, and from a registered plan."""
    gathered = gather_released(rows)
    sections = sections_of(gathered)
    if registered is not None:
        sections.append(registered.section(gathered))
    found, result = gathered.consensus, gathered.aggregation.result
    return Findings(
        rows=rows,
        agreement=result["agreement"],
        workers=result["workers"],
        metrics=dict(gathered.evaluation.result["metrics"]) if gathered.evaluation else {},
        counts={
            "judgments": rows.judgments,
            "invalidated": rows.invalidated,
            "counted": result["counts"]["counted_judgments"],
            "units": len(found.units),
            "control_items": len(rows.units) - len(found.units),
            "pairs": len(found.pairs),
            "workers": result["counts"]["workers"],
        },
        signature=rows.signature(),
        gathered=gathered,
        sections=sections,
        outcomes=None if registered is None else registered.as_json(gathered),
    )


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
