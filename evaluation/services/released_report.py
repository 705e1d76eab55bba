"""The report that a release holds: what it needs of the study besides the released rows."""

from __future__ import annotations

import json
from typing import Any

from evaluation.loaders import load_judgments
from evaluation.provenance import versions
from evaluation.releases.findings import Findings
from evaluation.releases.papers import About
from evaluation.reports.content import Report
from evaluation.reports.gathering import Evaluated, evaluation_of
from evaluation.reports.methods import methods
from evaluation.results.aggregation import consensus_of
from judgments.models import Study


def metrics_against_people(study: Study) -> tuple[Evaluated | None, str]:
    """Metrics against people, as the report has them."""
    return evaluation_of(study, consensus_of(study, load_judgments(study)))


def how_evaluated(found: Evaluated) -> dict[str, Any]:
    """How that was done, as it stands in a bundle's manifest."""
    how: dict[str, Any] = json.loads(
        json.dumps(
            {
                "settings": found.computed.settings,
                "signature": found.computed.signature,
                "signatures": found.computed.result["signatures"],
            }
        )
    )
    return how


def filter_counts(study: Study) -> dict[str, int]:
    """What the audit of a filter needs besides the rows."""
    notes = study.notes
    if not notes.get("audited"):
        return {}
    return {"pairs": notes["candidate_pairs"], "passed": notes["passed_filter"]}


def report_of_rows(study: Study, about: About, findings: Findings) -> Report:
    """The report of the bundle's own rows: people in their pseudonyms' order, and each number follows from the rows."""
    text, cited = methods(findings.gathered, study, findings.sections)
    evaluation = findings.gathered.evaluation
    return Report(
        study=study.slug,
        title=about.title,
        protocol=study.protocol,
        simulated=study.simulated,
        stamp=findings.signature,
        data_hash=findings.gathered.table.data_hash,
        seed=findings.gathered.seed,
        counts=findings.gathered.aggregation.result["counts"],
        sections=tuple(findings.sections),
        methods=text,
        citations=cited,
        settings={"meta-evaluation": dict(evaluation.settings)} if evaluation else {},
        signatures=dict(evaluation.result["signatures"]) if evaluation else {},
        versions=versions(),
    )
