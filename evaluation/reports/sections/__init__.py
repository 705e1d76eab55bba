"""Sections of a report, computed alike for a study and a release."""

from __future__ import annotations

from typing import Any

from common.amounts import as_json
from evaluation.planning.registration.plans import (
    HypothesisOutcome,
    Registered,
    check_hypotheses,
    outcome_words,
)
from evaluation.presentation.content import Section
from evaluation.presentation.rendering import say, section, table
from evaluation.reports.loading import ReportInputs
from evaluation.reports.sections import captions, pairs, people
from evaluation.reports.sections.captions import between_metrics_section, readings_section
from evaluation.results.verdict import winners_named
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


def registration_section(registered: Registered, inputs: ReportInputs) -> Section:
    rows = [
        (outcome.text, outcome.claim, outcome.verdict, outcome_words(outcome, inputs.wording))
        for outcome in registered_outcomes(registered, inputs)
    ]
    tables = [table("hypotheses", rows, clustered=inputs.clustered, raters=inputs.by_rater)]
    deviations = registered.deviations
    if deviations:
        tables.append(table("deviations", [(deviation.what, deviation.words) for deviation in deviations]))
    sentence = say("registration", on=registered.on, sha256=registered.sha256, n=len(deviations))
    return section("registration", [sentence], tables=tables)


def registration_as_json(registered: Registered, inputs: ReportInputs) -> dict[str, Any]:
    return {
        "sha256": registered.sha256,
        "registered_on": registered.on,
        "hypotheses": [as_json(outcome) for outcome in registered_outcomes(registered, inputs)],
        "deviations": [as_json(deviation) for deviation in registered.deviations],
    }


def registered_outcomes(registered: Registered, inputs: ReportInputs) -> list[HypothesisOutcome]:
    """Check each hypothesis by whether the metrics name people's winners of the decided pairs."""
    if not inputs.kind.compares_pairs or not inputs.scores:
        return check_hypotheses(registered.plan, {}, None, [])
    named = winners_named(inputs.scores)
    return check_hypotheses(registered.plan, named, inputs.people_winners, inputs.kinds.tolist())
