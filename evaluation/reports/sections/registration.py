"""What became of a registered plan, by the inputs of a report."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from evaluation.data.judgment_sets.records import Flags
from evaluation.data.provenance import as_json
from evaluation.planning.registration.plans import Outcome, Registered, check_hypotheses, outcome_words
from evaluation.presentation.content import Section
from evaluation.presentation.rendering import say, section, table
from evaluation.reports.loading import ReportInputs
from evaluation.results.verdict import right_pairs


def registration_section(registered: Registered, inputs: ReportInputs) -> Section:
    rows = [
        (outcome.text, outcome.claim, outcome.verdict, outcome_words(outcome, inputs.wording))
        for outcome in registered_outcomes(registered, inputs)
    ]
    tables = [table("hypotheses", rows, clustered=inputs.clustered)]
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


def registered_outcomes(registered: Registered, inputs: ReportInputs) -> list[Outcome]:
    return check_hypotheses(registered.plan, *metrics_right(inputs))


def metrics_right(inputs: ReportInputs) -> tuple[dict[str, Flags], list[str], NDArray[Any] | None]:
    """Return whether each metric names people's winner of each decided pair, and the pairs' kinds and images."""
    if not inputs.kind.compares_pairs or not inputs.scores:
        return {}, [], None
    decided = inputs.winners != 0
    right = right_pairs(inputs.scores, inputs.winners)
    images = inputs.images_of(inputs.pks or ())
    flags = {name: hits[decided] for name, hits in right.items()}
    return flags, inputs.kinds[decided].tolist(), None if images is None else images[decided]
