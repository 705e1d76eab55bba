"""Compute a release's results from its rows, for writing and verifying."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evaluation.registration.plans import Registered
from evaluation.releases.inputs import inputs_of_rows
from evaluation.releases.rows import ReleasedRows
from evaluation.report.content import Section
from evaluation.report.loading import ReportInputs
from evaluation.report.sections import sections_of
from evaluation.results.consensus import EMPTY_CONSENSUS, OUTCOME


@dataclass(frozen=True, slots=True)
class Findings:
    rows: ReleasedRows
    signature: str
    inputs: ReportInputs
    sections: list[Section]
    outcomes: dict[str, Any] | None = None

    @property
    def agreement(self) -> dict[str, Any]:
        found: dict[str, Any] = self.inputs.aggregation.result["agreement"]
        return found

    @property
    def workers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.inputs.aggregation.result["workers"]
        return found

    @property
    def metrics(self) -> dict[str, Any]:
        evaluation = self.inputs.evaluation
        return dict(evaluation.result["metrics"]) if evaluation else {}

    @property
    def counts(self) -> dict[str, int]:
        found, counts = self.inputs.consensus, self.inputs.aggregation.result["counts"]
        return {
            "judgments": self.rows.judgments,
            "invalidated": self.rows.invalidated,
            "counted": counts["counted_judgments"],
            "units": len(found.units),
            "control_items": len(self.rows.units) - len(found.units),
            "pairs": len(found.pairs),
            "workers": counts["workers"],
        }

    def consensus(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of ``consensus.jsonl``: units, then pairs."""
        found = self.inputs.consensus
        for unit in found.units:
            one, row = found.of_unit.get(unit.pk, EMPTY_CONSENSUS), self.rows.units[unit.pk]
            answer = one.answer
            if answer is not None:
                answer = self.rows.settings.kind.exchange.exported(answer, content=row["content"] or {})
            source = "adjudicated" if unit.pk in found.decisions else "judgments"
            yield {
                "unit": unit.key,
                "pair": row["pair"],
                "kind": row["kind"],
                **{name: getattr(one, name) for name in OUTCOME},
                "votes": dict(one.votes),
                "answer": answer,
                "source": source,
            }
        for pair in found.pairs:
            of_pair = found.of_pair[pair.pk]
            votes = {name: getattr(of_pair, name) for name in ("wins", "losses", "ties")}
            yield {
                "unit": None,
                "pair": pair.key,
                "kind": pair.kind or None,
                "n": sum(votes.values()),
                "value": of_pair.value,
                "share": None,
                "margin": None,
                "tie": of_pair.tie,
                "votes": votes,
                "answer": None,
                "source": "published" if of_pair.published else "judgments",
            }

    def analyses(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("signature", "counts", "agreement", "metrics")}


def find(rows: ReleasedRows, registered: Registered | None = None) -> Findings:
    inputs = inputs_of_rows(rows)
    sections = sections_of(inputs)
    if registered is not None:
        sections.append(registered.section(inputs))
    outcomes = None if registered is None else registered.as_json(inputs)
    return Findings(rows, rows.signature(), inputs, sections, outcomes)
