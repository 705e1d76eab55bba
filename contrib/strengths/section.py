"""The section of a report that ranks systems by all judgments."""

from __future__ import annotations

from pathlib import Path

from contrib.strengths.choices import LUCE
from contrib.strengths.strengths import strengths_of
from evaluation.errors import EvaluationError
from evaluation.presentation.content import DotPanel, DotPlot, Estimate, Level, Section
from evaluation.presentation.rendering import add_wording, plot, render_sentence, section, table
from judgments.design.tables.questions import AnswerOptions
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of, has_chances

add_wording(Path(__file__).parent / "wording.toml")


def ranking_section(study: Study) -> Section | None:
    """Return the section with strengths and rank bands; None if the study does not need it or cannot have it.

    If answers are of the usual kind, and all items were drawn with equal probability, the verdict on systems suffices.
    """
    design = design_of(study)
    kind = KINDS[study.protocol]
    has_unusual_answers = design.answers != AnswerOptions()
    has_unequal_chances = design.chosen is not None or has_chances(study)  # chosen: by usefulness
    if not (kind.compares_pairs or kind.names_best) or not (has_unusual_answers or has_unequal_chances):
        return None
    try:
        strengths = strengths_of(study)
    except EvaluationError:  # there is nothing to rank yet
        return None
    if strengths["reason"]:
        return section("ranking", empty=strengths["reason"])
    rows = []
    for system in strengths["systems"]:
        estimate = Estimate(system["strength"], system["low"], system["high"])
        rows.append((system["system"], estimate, system["best_rank"], system["worst_rank"]))
    is_luce = strengths["model"] == LUCE
    data = table("ranking", rows, luce=is_luce)
    possibly_first = [name for name, _, best_rank, _ in rows if best_rank == 1]
    counts = {name: strengths[name] for name in ("comparisons", "ties", "weighted")}
    sentence = render_sentence("ranking", best=possibly_first, luce=is_luce, **counts)
    panel = DotPanel("", tuple(strength for _, strength, *_ in rows), (Level("mean", 0.0),))
    drawing = DotPlot(
        tuple(name for name, *_ in rows),
        (panel,),
        "log-strength, 95 % interval",
        "number",
        accent=tuple(possibly_first),
    )
    return section("ranking", [sentence], [plot(sentence, drawing, data)], [data])
