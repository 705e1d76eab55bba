"""Sections of a report, computed alike for a study and a release."""

from __future__ import annotations

from evaluation.presentation.content import Section
from evaluation.reports.loading import ReportInputs
from evaluation.reports.sections import captions, pairs, people
from evaluation.reports.sections.captions import between_metrics_section, readings_section
from judgments.studies.generation import Progress, no_progress


def sections_of(inputs: ReportInputs, progress: Progress = no_progress) -> list[Section]:
    return [
        people.collection_section(inputs),
        people.agreement_section(inputs),
        people.workers_section(inputs),
        *_metric_sections(inputs, progress),
        *captions.protocol_sections(inputs),
    ]


def _metric_sections(inputs: ReportInputs, progress: Progress) -> list[Section]:
    sections: list[Section | None]
    one_judge = captions.people_against_others(inputs)
    if inputs.kind.compares_pairs:
        ceilings = pairs.human_levels(inputs)
        sections = [pairs.metrics_section(inputs, ceilings)]
        progress(0.55, "accuracy by number of references")
        sections += [pairs.references_section(inputs, ceilings), pairs.systems_section(inputs)]
    else:
        sections = [captions.metrics_section(inputs, one_judge), captions.thresholds_section(inputs)]
        sections += [captions.grades_section(inputs), captions.rankings_section(inputs)]
    sections.append(readings_section(inputs))
    progress(0.75, "metrics against each other")
    sections.append(between_metrics_section(inputs, one_judge))
    return [part for part in sections if part is not None]
