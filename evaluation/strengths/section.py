"""Report the ranking of systems by single judgments."""

from __future__ import annotations

from annotation.work.arena import draws_live
from evaluation.errors import EvaluationError
from evaluation.report.content import Dots, Estimate, Level, Panel, Section
from evaluation.report.rendering import plot, say, section, table
from evaluation.strengths.computing import strengths_of
from judgments.design.tables import PairAnswers
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.studies import design_of


def ranking_section(study: Study) -> Section | None:
    """Return strengths and rank bands if probabilities or answers are unusual; else None."""
    design = design_of(study)
    special = design.answers != PairAnswers() or design.chosen is not None or draws_live(study)
    if not (KINDS[study.protocol].compares_pairs and special):
        return None
    try:
        found = strengths_of(study)
    except EvaluationError:  # nothing to rank yet
        return None
    if found["reason"]:
        return section("ranking", empty=found["reason"])
    rows = [
        (
            one["system"],
            Estimate(one["strength"], one["low"], one["high"]),
            one["best_rank"],
            one["worst_rank"],
        )
        for one in found["systems"]
    ]
    data = table("ranking", rows)
    best = [one["system"] for one in found["systems"] if one["best_rank"] == 1]
    sentence = say(
        "ranking", best=best, comparisons=found["comparisons"], ties=found["ties"], weighted=found["weighted"]
    )
    drawing = Dots(
        tuple(name for name, *_ in rows),
        (Panel("", tuple(strength for _, strength, *_ in rows), (Level("mean", 0.0),)),),
        "log-strength, 95 % interval",
        "number",
        tuple(best),
    )
    return section("ranking", [sentence], [plot(sentence, drawing, data)], [data])
