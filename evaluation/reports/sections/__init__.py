"""Sections of a report, computed from the inputs of a study or of a release."""

from __future__ import annotations

from evaluation.presentation.content import Section
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.sections import (
    agreement,
    correlations,
    pairs,
    people,
    proposals,
    protocols,
    thresholds,
)
from evaluation.reports.sections.between_metrics import between_metrics_section
from evaluation.reports.sections.correlations import readings_section
from judgments.studies.generation.progress import Progress, no_progress


def sections_of(inputs: ReportInputs, progress: Progress = no_progress) -> list[Section]:
    return [
        people.collection_section(inputs),
        agreement.agreement_section(inputs),
        people.workers_section(inputs),
        *_metric_sections(inputs, progress),
        *protocols.protocol_sections(inputs),
    ]


def _metric_sections(inputs: ReportInputs, progress: Progress) -> list[Section]:
    sections: list[Section | None]
    one_judge = correlations.judge_vs_rest_correlations(inputs)  # the human level for metrics
    if inputs.kind.compares_pairs:
        # {} unless a release from before 0.6 is verified, whose report is computed as at that time
        human_levels = pairs.earlier_human_levels(inputs)
        sections = [pairs.pair_metrics_section(inputs, human_levels)]
        progress(0.55, "accuracy by number of references")
        sections += [pairs.references_section(inputs, human_levels), pairs.systems_section(inputs)]
    else:
        sections = [
            correlations.caption_metrics_section(inputs, one_judge),
            thresholds.thresholds_section(inputs),
        ]
        # proposals are entries of systems' ranked lists of captions
        sections += [proposals.grades_section(inputs), proposals.rankings_section(inputs)]
    sections.append(readings_section(inputs))  # variants of metrics' figures (``EvaluationOptions``)
    progress(0.75, "metrics against each other")
    sections.append(between_metrics_section(inputs, one_judge))
    return [section for section in sections if section is not None]
