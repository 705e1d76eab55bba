"""Sections of the report that only one protocol has: keywords, boxes, and questions of a form.

MC12 is Mason and Charniak 2012, WG15 and WG16 are Wang and Gaizauskas 2015 and 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.module_loading import import_string

from common.features import declared_by_features
from evaluation.presentation.content import (
    DotPanel,
    DotPlot,
    Estimate,
    Level,
    Plot,
    Section,
    Table,
    estimate_of,
    levels_of,
)
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.sections.correlations import FULL_AGREEMENT
from evaluation.results.consensus.tables import content_table, leave_one_out_tables, questions_tables
from evaluation.results.standings import F1, comparison_tables


def protocol_sections(inputs: ReportInputs) -> list[Section]:
    """Return the sections of the kind's own figures that the aggregation has. Features may add some."""
    figures: Mapping[str, Any] = inputs.aggregation.result.get("figures", {})

    def system_content_section(figures: Mapping[str, Any]) -> Section:
        return _system_content_section(figures, inputs.aggregation.result.get("systems_verdict"))

    # The function that makes the section on a figure, by the figure's key.
    sections: dict[str, Callable[[Mapping[str, Any]], Section]] = {
        "leave_one_out": _leave_one_out_section,
        "pairwise_f1": _keywords_section,
        "content_selection": _content_section,
        "system_content": system_content_section,
        "questions": _questions_section,
        **{name: import_string(path) for name, path in declared_by_features("figure_sections").items()},
    }
    return [make(figures) for name, make in sections.items() if name in figures]


def _leave_one_out_section(figures: Mapping[str, Any]) -> Section:
    """Return the section on scores of each caption against the other captions of its image (WG16 §4)."""
    leave_one_out = figures["leave_one_out"]
    if not leave_one_out["metrics"]:
        return section("leave-one-out", empty=leave_one_out["reason"])
    data, *other_tables = leave_one_out_tables(leave_one_out)
    sentence = render_sentence("leave-one-out", captions=leave_one_out["captions"])
    plots: list[Plot] = []
    # Metrics have different scales. Plot only scores from 0 to 1, on one axis.
    names: list[str] = []
    means: list[Estimate] = []
    floors: list[Estimate] = []
    for name, mean, floor, *_other_cells in data.rows:
        if not (isinstance(mean, Estimate) and isinstance(floor, Estimate)):
            continue
        if mean.value is not None and mean.value <= 1:
            names.append(str(name))
            means.append(mean)
            floors.append(floor)
    if names:
        people_panel = DotPanel("one person", tuple(means))
        floor_panel = DotPanel("a caption of another item", tuple(floors))
        panels = _panels_with_floor(people_panel, floor_panel)
        drawing = DotPlot(tuple(names), panels, "mean score over items, 95 % interval")
        floor_name = "leave-one-out-floor" if len(panels) > 1 else "leave-one-out-no-floor"
        caption = f"{sentence} {render_sentence(floor_name)}"
        plots.append(plot(caption, drawing, data, title="What people reach by the metrics"))
    return section("leave-one-out", [sentence, *leave_one_out["warnings"]], plots, [data, *other_tables])


def _panels_with_floor(people: DotPanel, floor: DotPanel) -> tuple[DotPanel, ...]:
    """Return both panels, or only the panel of people if no floor was measured."""
    return (people, floor) if any(cell.value is not None for cell in floor.estimates) else (people,)


def _keywords_section(figures: Mapping[str, Any]) -> Section:
    key_by_label = {"keywords as words": "pairwise_f1", "one stem merged": "pairwise_f1_of_stems"}
    scores = {label: figures[key] for label, key in key_by_label.items() if key in figures}
    score_of_words = figures["pairwise_f1"]
    if score_of_words["value"] is None:
        return section("keywords", empty=score_of_words["reason"])
    data = table(
        "keywords",
        [
            (name, estimate_of(score), score.get("floor"), score["n"], score["pairs_of_answers"])
            for name, score in scores.items()
        ],
    )
    sentence = render_sentence("keywords", value=score_of_words["value"])
    floor = score_of_words.get("floor")
    levels = [] if floor is None else [Level("another item's", floor)]
    levels.append(Level("the same keywords", 1.0, dashed=False))
    panel = DotPanel("", tuple(estimate_of(score) for score in scores.values()), tuple(levels))
    drawing = DotPlot(tuple(scores), (panel,), "F1, 95 % interval")
    caption = f"{sentence} {render_sentence('keywords-floor', floor=floor)}"
    return section("keywords", [sentence], [plot(caption, drawing, data)], [data])


def _content_section(figures: Mapping[str, Any]) -> Section:
    """Return the section on people's content selection, which compares each description with the others (WG15 §5)."""
    selection = figures["content_selection"]
    bounds = selection["upper_bound"]
    if all(bound["value"] is None for bound in bounds.values()):
        return section("content", empty=selection["reason"] or "No item has two descriptions to compare.")
    data = table(
        "content",
        [
            (name, bound["value"], bound["deviation"], bound.get("floor"), bound["n"])
            for name, bound in bounds.items()
        ],
    )
    people = DotPanel("one person", tuple(estimate_of(bound) for bound in bounds.values()))
    chance = DotPanel("random boxes", tuple(Estimate(bound.get("floor")) for bound in bounds.values()))
    panels = _panels_with_floor(people, chance)
    drawing = DotPlot(tuple(bounds), panels, "mean over items")
    sentence = render_sentence("content")
    caption = f"{sentence} {render_sentence('content-floor', floor=len(panels) > 1)}"
    return section("content", [sentence], [plot(caption, drawing, data)], [data])


def _system_content_section(figures: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> Section:
    """Return the section on boxes or keywords of systems, compared with people's (WG15 §5, MC12 §6.2)."""
    content = figures["system_content"]  # of ``score_selections``: ``rows`` have figures by measure
    data, deciding_figure = content_table(content), content["decides"]
    (people,) = (row["figures"][deciding_figure] for row in content["rows"] if row["who"] == "people")
    # Systems come first, best first, then baselines, also best first.
    drawn_rows = [row for row in content["rows"] if row["who"] != "people"]
    system_count = sum(row["who"] == "system" for row in drawn_rows)
    leaders = [drawn_rows[0]["name"]]  # if there is no verdict, as for a single system
    cells = {row["name"]: row["figures"][deciding_figure] for row in drawn_rows[:system_count]}
    verdict_tables: list[Table] = []
    measure = "F" if deciding_figure == F1 else deciding_figure
    if verdict is not None:  # it is on one group, without a name
        leaders = verdict["leaders"]
        column = (measure, "coefficient")  # heading and format of the estimates
        verdict_tables = comparison_tables({"": verdict}, {"": cells}, headings=("", "system"), column=column)
    quoted_results = {"best": drawn_rows[0], "people": people, "baseline": drawn_rows[system_count]}
    sentence = render_sentence("system-content", content=content, systems=system_count, **quoted_results)
    estimates = tuple(estimate_of(row["figures"][deciding_figure]) for row in drawn_rows)
    panel = DotPanel("", estimates, tuple(levels_of("one person", estimate_of(people))))
    names, axis = tuple(row["name"] for row in drawn_rows), f"mean {measure} over items, 95 % interval"
    drawing = DotPlot(names, (panel,), axis, accent=tuple(leaders))
    return section("system-content", [sentence], [plot(sentence, drawing, data)], [data, *verdict_tables])


def _questions_section(figures: Mapping[str, Any]) -> Section:
    questions = figures["questions"]
    if not any(question["answered"] for question in questions):
        return section("questions", empty="Nobody answered a question of the form yet.")
    tables = questions_tables(questions)
    sentence = render_sentence("questions", n=len(questions))
    plots: list[Plot] = []
    drawn_questions = [
        question for question in questions if question.get("alpha", {}).get("value") is not None
    ]
    if drawn_questions:
        alphas = tuple(estimate_of(question["alpha"]) for question in drawn_questions)
        drawing = DotPlot(
            tuple(question["name"] for question in drawn_questions),
            (DotPanel("", alphas, (Level("chance", 0.0), FULL_AGREEMENT)),),
            "Krippendorff's alpha, 95 % interval",
        )
        plots.append(plot(sentence, drawing, tables[0]))
    return section("questions", [sentence], plots, tables)
