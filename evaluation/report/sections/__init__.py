"""Sections of a report, computed alike for a study and a release."""

from __future__ import annotations

from evaluation.report.content import Section
from evaluation.report.loading import ReportInputs
from evaluation.report.sections import captions, pairs, people, systems
from evaluation.report.sections.metrics import between_metrics, readings
from judgments.studies.generation import Progress, no_progress


def sections_of(inputs: ReportInputs, progress: Progress = no_progress) -> list[Section]:
    return [
        people.collection(inputs),
        people.agreement(inputs),
        people.workers(inputs),
        *_against_people(inputs, progress),
        *captions.sections(inputs),
    ]


def _against_people(inputs: ReportInputs, progress: Progress) -> list[Section]:
    sections: list[Section | None]
    one_judge = captions.ceilings(inputs)
    if inputs.kind.compares_pairs:
        ceilings = pairs.ceilings(inputs)
        sections = [pairs.metrics(inputs, ceilings)]
        progress(0.55, "accuracy by number of references")
        sections += [pairs.references(inputs, ceilings), pairs.systems(inputs)]
    else:
        sections = [captions.metrics(inputs, one_judge), captions.thresholds(inputs)]
        sections += [systems.grades(inputs), systems.rankings(inputs)]
    sections.append(readings(inputs))
    progress(0.75, "metrics against each other")
    sections.append(between_metrics(inputs, one_judge))
    return [section for section in sections if section is not None]
