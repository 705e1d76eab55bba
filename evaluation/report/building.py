"""Build the report of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.judgment_sets.signature import signature_of_study
from evaluation.provenance import versions
from evaluation.registration.deviations import registered
from evaluation.report.content import Report, Section
from evaluation.report.inputs import ReportInputs
from evaluation.report.loading import load_inputs
from evaluation.report.methods import methods
from evaluation.report.sections import sections_of
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress


def build_report(
    study: Study,
    *,
    metrics: Sequence[str] = (),
    tokenizer: str = "",
    progress: Progress = no_progress,
) -> Report:
    """Return the report of a study without storing it; reuse stored analyses of the same judgments.

    Args:
        metrics, tokenizer: default: those of the newest evaluation, else the defaults.

    Raises:
        EvaluationError: an unknown metric or tokenizer.
    """
    inputs = load_inputs(study, metrics=metrics, tokenizer=tokenizer, progress=progress)
    progress(0.5, "figures and tables")
    sections = sections_of(inputs, progress)
    if (plan := registered(study)) is not None:
        sections.append(plan.section(inputs))
    progress(0.8, "writing")
    aggregation, evaluation = inputs.aggregation, inputs.evaluation
    settings, signatures = {"aggregation": dict(aggregation.settings)}, {"aggregation": aggregation.signature}
    if evaluation is not None:
        settings["meta-evaluation"] = dict(evaluation.settings)
        signatures |= {"meta-evaluation": evaluation.signature, **evaluation.result["signatures"]}
    return assemble(
        study, inputs, sections, title=study.name, signature=str(signature_of_study(study)), settings=settings,
        signatures=signatures,
    )  # fmt: skip


def assemble(
    study: Study,
    inputs: ReportInputs,
    sections: Sequence[Section],
    *,
    title: str,
    signature: str,
    settings: Mapping[str, Any],
    signatures: Mapping[str, str],
) -> Report:
    """Return a report of these sections with its methods."""
    paragraphs, cited = methods(inputs, study, sections)
    return Report(
        study=study.slug,
        title=title,
        protocol=study.protocol,
        simulated=study.simulated,
        signature=signature,
        data_hash=inputs.table.data_hash,
        seed=inputs.seed,
        counts=inputs.aggregation.result["counts"],
        sections=tuple(sections),
        methods=paragraphs,
        citations=cited,
        settings=settings,
        signatures=signatures,
        versions=versions(),
    )
