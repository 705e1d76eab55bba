"""The sections of a report about marked errors: how far people agree, and the scores of systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contrib.error_spans.results.scores import system_scores
from contrib.error_spans.results.segments import marks_errors, outputs_of_segments, segments_of
from contrib.error_spans.results.tables import scores_table
from evaluation.presentation.content import (
    DotPanel,
    DotPlot,
    Estimate,
    Level,
    Section,
    estimate_of,
    join_names,
)
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.sections.correlations import FULL_AGREEMENT
from evaluation.results.standings import MEAN, comparison_tables
from judgments.models import Study


def span_agreement_section(figures: Mapping[str, Any]) -> Section:
    """Return the section about how far people mark the same characters, by F1 and by alpha, which corrects for chance.

    Args:
        figures: the stored results of the kind (``kind/agreement.py``).
    """
    spans = figures["spans"]
    keys_by_name = {
        "character F1": "f1",
        "character F1, same severity": "f1_same_severity",
        "unitized alpha": "alpha_u",
        "unitized alpha, same severity": "alpha_u_same_severity",
    }
    coefficients = {name: spans[key] for name, key in keys_by_name.items()}
    errors_table = table(
        "span-errors",
        [
            (division, name, count, count / spans["judgments"])
            for division, counts in (("severity", spans["severities"]), ("category", spans["categories"]))
            for name, count in counts.items()
        ],
        missing=spans["missing"],  # marks for missing parts
        without=spans["without"],  # judgments without an error
    )
    if all(coefficient["value"] is None for coefficient in coefficients.values()):
        return section("spans", empty=coefficients["character F1"]["reason"])
    agreement_table = table(
        "spans",
        [
            (
                name,
                estimate_of(coefficient),
                coefficient["n"],
                coefficient["clusters"],
                coefficient["judgments"],
            )
            for name, coefficient in coefficients.items()
        ],
        resamples=spans["f1"]["resamples"],
        seed=spans["f1"]["seed"],
    )
    panel = DotPanel(
        title="",
        estimates=tuple(estimate_of(coefficient) for coefficient in coefficients.values()),
        levels=(Level("chance, of alpha", 0.0), FULL_AGREEMENT),
    )
    sentence = render_sentence("spans", f1=spans["f1"]["value"], alpha=spans["alpha_u"]["value"])
    drawing = DotPlot(labels=tuple(coefficients), panels=(panel,), axis="coefficient, 95 % interval")
    tables = [agreement_table, errors_table] if errors_table.rows else [agreement_table]
    return section("spans", [sentence], [plot(sentence, drawing, agreement_table)], tables)


def marked_systems_section(study: Study) -> Section | None:
    """Return the section with the scores of systems, best first, and tests of the best system against the others.

    Return None if the study has no marked errors.
    """
    if not marks_errors(study):
        return None
    segments = segments_of(study)
    scores = system_scores(segments)
    if not scores:
        return None
    systems_table = scores_table(scores)
    outputs = outputs_of_segments(segments)
    assert outputs is not None, "there are scores"
    standings = outputs.standings(MEAN)
    comparison = standings.compare()
    leaders = comparison.leaders
    sentence = render_sentence(
        "systems-by-errors",
        best=scores[0],
        names=join_names(leaders),
        is_single_leader=len(leaders) == 1,
        systems=len(scores),
        has_interval=scores[0].low is not None,
    )
    drawing = DotPlot(
        labels=tuple(score.system for score in scores),
        panels=(DotPanel("", tuple(Estimate(score.score, score.low, score.high) for score in scores)),),
        axis="mean score of the segments, 95 % interval",
        shows="number",
        accent=tuple(leaders),
    )
    # the stored form of a comparison of the best system with the others, as in ``evaluation.results.verdict``
    verdict = {
        "leaders": leaders,
        "rest": comparison.significantly_worse,
        "compared": comparison.compared,
        "scope": standings.scope,
    }
    # One group of results, named "" since it contains all segments. The heading of the groups' names is "", too, so the
    # tables have no such column.
    tests = comparison_tables(
        {"": verdict}, {"": standings.figures}, headings=("", "system"), column=("score", "fixed")
    )
    tables = [systems_table, *tests]
    return section("systems-by-errors", [sentence], [plot(sentence, drawing, systems_table)], tables)
