"""Compute the results of a release from its rows, without a database: analyses, and a report's sections.

A release is made and verified with these functions, so that both have the same results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.data.releases.rows import ReleasedRows
from evaluation.presentation.content import Report, Section
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.releases.inputs import inputs_of_rows
from evaluation.reports.sections import sections_of
from evaluation.reports.sections.registration import (
    RegisteredPlan,
    registration_as_json,
    registration_section,
)
from evaluation.results.consensus.study import CONSENSUS_FIELDS, EMPTY_CONSENSUS


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of a release.

    Attributes:
        signature: the judgment signature.
        outcomes: the registered plan with the outcomes of its hypotheses; None without a plan.
    """

    rows: ReleasedRows
    signature: str
    inputs: ReportInputs
    sections: list[Section]
    outcomes: dict[str, Any] | None = None

    @property
    def agreement(self) -> dict[str, Any]:
        agreement: dict[str, Any] = self.inputs.aggregation.result["agreement"]
        return agreement

    @property
    def workers(self) -> list[dict[str, Any]]:
        workers: list[dict[str, Any]] = self.inputs.aggregation.result["workers"]
        return workers

    @property
    def metrics(self) -> dict[str, Any]:
        evaluation = self.inputs.evaluation
        return dict(evaluation.result["metrics"]) if evaluation else {}

    @property
    def counts(self) -> dict[str, int]:
        consensus, counts = self.inputs.consensus, self.inputs.aggregation.result["counts"]
        return {
            "judgments": self.rows.judgment_count,
            "invalidated": self.rows.invalidated_count,
            "counted": counts["counted_judgments"],
            "units": len(consensus.units),
            "control_items": len(self.rows.units) - len(consensus.units),
            "pairs": len(consensus.pairs),
            "workers": counts["workers"],
        }

    def consensus(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of ``consensus.jsonl``, first units, then pairs."""
        yield from self._consensus_of_units()
        yield from self._consensus_of_pairs()

    def _consensus_of_units(self) -> Iterator[dict[str, Any]]:
        consensus = self.inputs.consensus
        for unit in consensus.units:
            outcome, row = consensus.of_unit.get(unit.pk, EMPTY_CONSENSUS), self.rows.units[unit.pk]
            answer = outcome.answer
            if answer is not None:
                answer = self.rows.settings.kind.exchange.to_file(answer, content=row["content"] or {})
            yield {
                "unit": unit.key,
                "pair": row["pair"],
                "kind": row["kind"],
                **{name: getattr(outcome, name) for name in CONSENSUS_FIELDS},
                "votes": dict(outcome.votes),
                "answer": answer,
                "source": "adjudicated" if unit.pk in consensus.decisions else "judgments",
            }

    def _consensus_of_pairs(self) -> Iterator[dict[str, Any]]:
        consensus = self.inputs.consensus
        for pair in consensus.pairs:
            pair_outcome = consensus.of_pair[pair.pk]
            votes = {name: getattr(pair_outcome, name) for name in ("wins", "losses", "ties")}
            yield {
                "unit": None,
                "pair": pair.key,
                "kind": pair.kind or None,
                "n": sum(votes.values()),
                "value": pair_outcome.value,
                "share": None,
                "margin": None,
                "tie": pair_outcome.tie,
                "votes": votes,
                "answer": None,
                "source": "published" if pair_outcome.published else "judgments",
            }

    def analyses(self) -> dict[str, Any]:
        """Return the content of ``analyses.json``."""
        return {name: getattr(self, name) for name in ("signature", "counts", "agreement", "metrics")}


def compute_findings(rows: ReleasedRows, registered_plan: RegisteredPlan | None = None) -> Findings:
    """Return the results of complete rows, and the outcomes of a registered plan."""
    inputs = inputs_of_rows(rows)
    sections = sections_of(inputs)
    if registered_plan is not None:
        sections.append(registration_section(registered_plan, inputs))
    outcomes = None if registered_plan is None else registration_as_json(registered_plan, inputs)
    return Findings(rows, rows.signature(), inputs, sections, outcomes)


# The key of a report's settings with a copy of the manifest. `verify` compares both, to find a change in either.
MANIFEST_COPY = "release"


def report_of_release(
    manifest: Mapping[str, Any], findings: Findings, methods: Sequence[str], citations: Sequence[str]
) -> Report:
    """Return the report of a release.

    ``methods`` and ``citations`` are the results of ``methods_with_citations``, which cannot be computed from the rows.
    """
    inputs, evaluation = findings.inputs, findings.inputs.evaluation
    settings = {MANIFEST_COPY: {name: value for name, value in manifest.items() if name != "files"}}
    if evaluation:
        settings["meta-evaluation"] = dict(evaluation.settings)
    return Report(
        **{name: manifest[name] for name in ("study", "title", "simulated", "versions")},
        protocol=findings.rows.settings.protocol,
        signature=findings.signature,
        data_hash=inputs.table.data_hash,
        seed=inputs.seed,
        counts=inputs.aggregation.result["counts"],
        sections=tuple(findings.sections),
        methods=tuple(methods),
        citations=tuple(citations),
        settings=settings,
        signatures=dict(evaluation.result["signatures"]) if evaluation else {},
    )
