"""Figures as a page and a screen reader meet them."""

import re
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring
from django.utils import translation
from matplotlib.backends.backend_agg import FigureCanvasAgg

from evaluation.data.progress import study_progress
from evaluation.presentation.content import (
    Column,
    Curve,
    CurvePanel,
    DotPanel,
    DotPlot,
    Estimate,
    Heatmap,
    HeatmapPanel,
    Level,
    LinePlot,
    Plot,
    Table,
    plain_table,
)
from evaluation.presentation.plots.canvas import ACCENT
from evaluation.presentation.plots.figures import curves_figure, dots_figure, draw_plot, svg_of
from evaluation.presentation.plots.heat import heat_figure
from evaluation.results.plots import (
    accuracy_figure,
    accuracy_sentence,
    agreement_figure,
    agreement_sentence,
    progress_figure,
    progress_sentence,
    workers_figure,
    workers_sentence,
)
from evaluation.results.verdict import BY_ITEM, NAIVE_TESTS, TAU
from tests.evaluation.studies import StudyOf, make_dataset

SVG = "{http://www.w3.org/2000/svg}"


def cell(value: float | None, n: int = 100) -> dict[str, Any]:
    half = 0.05
    low, high = (None, None) if value is None else (value - half, value + half)
    return {"value": value, "low": low, "high": high, "n": n}


ACCURACY: dict[str, Any] = {
    "metrics": {
        "bleu-1": {"accuracy": {"HC": cell(0.55), "HI": cell(0.95), "all": cell(0.75, 200)}},
        "cider": {"accuracy": {"HC": cell(0.70), "HI": cell(0.90), "all": cell(0.80, 200)}},
    },
    "raters": 9,
    "people": {"HC": cell(0.66), "HI": cell(0.98), "all": cell(0.82, 600)},
    "verdict": {"all": {"leaders": ["cider", "bleu-1"], "rest": [], "p": None, "n": 200, "by": NAIVE_TESTS}},
}
CORRELATION: dict[str, Any] = {
    "metrics": {
        "bleu-1": {"kendall_tau_b": cell(0.31), "spearman": cell(0.4), "kappa": []},
        "rouge-l": {"kendall_tau_b": cell(-0.2), "spearman": cell(-0.1), "kappa": []},
    },
    "verdict": {
        "all": {"leaders": ["bleu-1"], "rest": ["rouge-l"], "p": None, "n": 100, "by": TAU + BY_ITEM}
    },
}
ALPHA = {"level": "nominal", "units": 200, "workers": 9, "judgments": 600, "reason": ""}
AGREEMENT: dict[str, Any] = {
    "alpha": cell(0.62) | ALPHA,
    "by_kind": {"HC": cell(0.21) | ALPHA, "HI": cell(0.92) | ALPHA},
    "per_worker": {"available": True, "reason": ""},
}
ALMA = {"worker": "alma", "controls_seen": 10, "controls_right": 9, "controls_share": 0.9, "used": True}
BELA = {"worker": "<bela>", "controls_seen": 10, "controls_right": 3, "controls_share": 0.3, "used": False}
WORKERS: list[dict[str, Any]] = [ALMA | {"seconds": 4.0}, BELA | {"seconds": 2.0}]
PROGRESS: dict[str, Any] = {
    "judgments": 40, "wanted": 120, "hits": 6, "hits_done": 1, "assignments": {},
    "timeline": [["2026-01-01T10:00:00Z", 20], ["2026-01-01T12:30:00Z", 40]],
}  # fmt: skip

FIGURES = {
    "accuracy": lambda: accuracy_figure(ACCURACY),
    "correlation": lambda: accuracy_figure(CORRELATION),
    "agreement": lambda: agreement_figure(AGREEMENT),
    "progress": lambda: progress_figure(PROGRESS),
    "workers": lambda: workers_figure(WORKERS, 0.7),
}


def words(svg: str) -> list[str]:
    return [text.text or "" for text in fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_a_named_image_with_text_as_text_and_no_inline_style(name: str) -> None:
    svg = FIGURES[name]()
    assert svg == FIGURES[name]()  # the same bytes for the same numbers
    root = fromstring(svg)
    assert root.get("role") == "img"
    labels = {element.get("id"): element.text for element in root if element.get("id")}
    for label in (root.get("aria-labelledby") or "").split():
        assert labels[label]
    assert len(words(svg)) > 4
    assert "style=" not in svg
    assert "<style" not in svg
    assert not re.search(r"\d{4}-\d\d-\d\dT", svg)
    assert "imulated" not in svg  # which the page says, once


def test_figures_in_one_page_share_no_ids() -> None:
    ids = [
        re.findall(r' id="([^"]+)"', FIGURES[name]())
        for name in ("accuracy", "agreement", "progress", "workers")
    ]
    every = [one for group in ids for one in group]
    assert len(every) == len(set(every))


def test_the_accuracy_figure_names_chance_people_kinds_and_metrics() -> None:
    found = words(accuracy_figure(ACCURACY))
    for word in ("chance", "one participant", "HC", "HI", "all", "cider", "bleu-1", "n = 100", "n = 200"):
        assert word in found, word


def test_panels_that_show_the_same_are_drawn_once() -> None:
    cells = {"HC": cell(0.55), "all": cell(0.55)}
    found = words(accuracy_figure({"metrics": {"bleu-1": {"accuracy": cells}}}))
    assert "HC" in found
    assert "all" not in found


def test_colour_sets_the_leaders_apart_and_nothing_where_all_lead() -> None:
    some = ACCURACY | {"verdict": {"all": ACCURACY["verdict"]["all"] | {"leaders": ["cider"]}}}
    assert ACCENT in accuracy_figure(some)
    assert ACCENT not in accuracy_figure(ACCURACY)


def test_a_metric_with_options_is_named_with_each_option_on_a_line_of_its_own() -> None:
    name = "cider-d|n:3|stem:none"
    for result in (ACCURACY, CORRELATION):
        metrics = {name: next(iter(result["metrics"].values()))}
        svg = accuracy_figure({"metrics": metrics})
        found = words(svg)
        assert found[found.index("cider-d") :][:3] == ["cider-d", "n:3", "stem:none"]
        description = fromstring(svg).find(f"{SVG}desc")
        assert description is not None
        assert name in (description.text or "")


def test_without_judgments_behind_the_consensus_no_level_of_people_is_drawn() -> None:
    assert "one participant" not in words(accuracy_figure(ACCURACY | {"people": {}}))


def test_the_sentences_say_what_the_figures_mean() -> None:
    said = (
        accuracy_sentence(ACCURACY)
        .replace("\N{NO-BREAK SPACE}", " ")
        .replace("\N{NARROW NO-BREAK SPACE}", " ")
    )
    assert said.startswith(
        "No metric is ahead. There is no significant difference between cider and bleu-1 ("
    )
    assert said.endswith(
        "Chance is 50 %. A single participant agrees with the majority of the others on 82 % of the pairs."
    )
    said = accuracy_sentence(CORRELATION)
    assert said.startswith("bleu-1 is ahead of rouge-l (t tests by item, Holm’s correction): its tau-b with ")
    assert "0 is chance, and 1 is the same order as people." in said
    assert said.endswith("Intervals and tests generalise to other items, but not to other participants.")
    assert "Compute now" in accuracy_sentence({"metrics": ACCURACY["metrics"]})
    assert agreement_sentence(AGREEMENT) == (
        "Krippendorff's alpha is .62 (95 % interval .57 to .67, nominal). Items with at least two judgments: 100. "
        "0 is chance, and 1 is full agreement. Agreement is highest on HI pairs (.92)."
    )
    close = {"HC": cell(0.9) | ALPHA, "HI": cell(0.92) | ALPHA}
    assert "highest" not in agreement_sentence(AGREEMENT | {"by_kind": close})
    assert progress_sentence(PROGRESS) == "Judgments: 40 of 120 (33 %). Pages of work complete: 1 of 6."
    assert workers_sentence(WORKERS, 0.7) == (
        "2 participants. Participants who reached the pass mark of 70 %: 1 of 2 who answered check questions. The "
        "judgments of 1 participant are not used. The median participant takes 3.0 s per item."
    )


def test_workers_who_saw_no_control_item_are_shown_by_their_pace() -> None:
    rows = [
        row | {"controls_seen": 0, "controls_right": 0, "controls_share": None, "used": True}
        for row in WORKERS
    ]
    assert "median seconds per item" in words(workers_figure(rows, 0.7))
    assert "None of them answered a check question" in workers_sentence(rows, 0.7)


def test_a_hundred_workers_are_drawn_without_names() -> None:
    rows = [WORKERS[0] | {"worker": f"w-{place}"} for place in range(100)]
    assert "w-0" not in words(workers_figure(rows, 0.7))


def test_an_undefined_figure_is_a_dash() -> None:
    metrics = {"bleu-1": {"accuracy": {"HC": cell(None, 0), "all": cell(0.6)}}}
    assert "–" in words(accuracy_figure({"metrics": metrics}))


def test_where_there_is_nothing_to_draw_there_is_only_a_sentence() -> None:
    nothing = {"alpha": cell(None, 0) | ALPHA}
    assert accuracy_figure({}) == agreement_figure(nothing) == workers_figure([], 0.7) == ""
    empty = PROGRESS | {"judgments": 0, "timeline": []}
    assert progress_figure(empty) == ""
    assert accuracy_sentence({}) == "No metric has been compared with people's judgments yet."
    assert agreement_sentence(nothing) == "No item has two judgments yet."
    assert workers_sentence([], 0.7) == "No page of work has been submitted yet."
    assert progress_sentence(empty) == (
        "There are no judgments yet. Judgments that the study needs: 120; pages of work: 6."
    )


@pytest.mark.django_db
def test_progress_counts_what_is_in_and_what_is_wanted() -> None:
    study = StudyOf(make_dataset("toy", {"a.jpg": ["a dog"]}), "graded")
    units = [study.unit(f"u{place}", "a.jpg", first=f"caption {place}") for place in range(2)]
    hit = study.hit("h1", units, required=2)
    study.hit("h2", [study.unit("u9", "a.jpg", first="more")], required=2)
    study.answer(hit, "alma", [1, 2], minutes=3)
    study.answer(hit, "bela", [1, 2], minutes=5)
    assert study_progress(study.study) == {
        "judgments": 4, "wanted": 6, "hits": 2, "hits_done": 1, "assignments": {"submitted": 2},
        "timeline": [["2026-01-01T10:03:00Z", 2], ["2026-01-01T10:05:00Z", 4]],
        "stopping": None, "revised_at": None,
    }  # fmt: skip


@pytest.mark.parametrize("name", [r"$\frac{$", "$x$", "a $ b", "</text><script>alert(1)</script>"])
def test_a_worker_of_any_name_is_drawn_under_that_name(name: str) -> None:
    row = {"controls_seen": 4, "controls_right": 3, "controls_share": 0.75, "used": True, "seconds": 2.0}
    svg = workers_figure([row | {"worker": name}, row | {"worker": "w-0007"}], 0.7)
    texts = ["".join(text.itertext()) for text in fromstring(svg).iter(f"{SVG}text")]
    assert name in texts


def test_the_words_of_two_levels_of_people_stand_apart_and_within_a_figure_of_five_panels() -> None:
    levels = (
        Level("chance", 0.5),
        Level("half of the people", 0.82, dashed=False),
        Level("most an answer can reach", 0.87, dashed=False),
    )
    panels = tuple(
        DotPanel(kind, (Estimate(0.7, 0.65, 0.75),), levels, "n = 1,234")
        for kind in ("HC", "HI", "HM", "MM", "all")
    )
    figure = dots_figure(DotPlot(("cider",), panels, "accuracy in %", shows="share"), 0.0)
    FigureCanvasAgg(figure).draw()
    *_, last = figure.axes
    half, most, title, note = (one.get_window_extent() for one in last.texts)
    assert not half.overlaps(most)
    for words in (half, most):
        assert not words.overlaps(title)
        assert not words.overlaps(note)
        assert words.x1 <= figure.bbox.x1


def test_the_note_of_a_panel_without_a_title_is_written_within_the_figure() -> None:
    panel = DotPanel("", (Estimate(0.7, 0.65, 0.75),), (Level("people", 0.8, dashed=False),), "n = 1,234")
    figure = dots_figure(DotPlot(("cider",), (panel,), "accuracy in %", shows="share"), 0.0)
    FigureCanvasAgg(figure).draw()
    level, note = figure.axes[0].texts
    assert note.get_text() == "n = 1,234"
    assert not note.get_window_extent().overlaps(level.get_window_extent())
    assert note.get_window_extent().y1 <= figure.bbox.y1


def test_room_is_kept_only_for_labels_of_levels_that_are_written() -> None:
    people = Level("half of the people", 0.82, dashed=False)
    estimates = (Estimate(0.7, 0.65, 0.75),)
    heights = [
        dots_figure(
            DotPlot(("cider",), (DotPanel("HC", estimates, levels), DotPanel("all", estimates)), "accuracy"),
            0.0,
        ).get_size_inches()[1]
        for levels in ((), (people, Level("most an answer can reach", 0.87, dashed=False)))
    ]
    assert heights[0] == heights[1]  # the last panel, which has the labels, has no level


def test_shares_in_a_matrix_are_percentages_as_in_the_sentence_below_it() -> None:
    names, level = ("W1", "W2"), Level("chance", 0.5)
    values = ((None, 0.711), (0.711, None))
    said = {}
    for shows in ("share", "coefficient"):
        panel = HeatmapPanel("equal answers", names, names, values, levels=(level,), shows=shows)
        table = Table("t", "T", (), ())
        plot = Plot("p", "P", "", Heatmap((panel,), "worker", "worker"), table)
        said[shows] = words(svg_of(draw_plot(plot, signature=""), plot, simulated=False))
    assert {"71", "chance 50\N{NO-BREAK SPACE}%"} <= set(said["share"])
    assert {".71", "chance .50"} <= set(said["coefficient"])


@pytest.mark.parametrize(("columns", "name"), [(9, "abcd"), (20, "abcd"), (9, "abcdefgh")])
def test_the_colour_scale_stays_clear_of_column_names_that_are_written_upwards(
    columns: int, name: str
) -> None:
    panel = HeatmapPanel("", ("row",), (name,) * columns, ((0.5,) * columns,), levels=(Level("chance", 0.5),))
    figure = heat_figure(Heatmap((panel,), "metric", "metric"), 0.0)
    figure.draw_without_rendering()
    matrix, scale = figure.axes
    gap = matrix.xaxis.label.get_window_extent().y0 - scale.get_window_extent().y1
    assert gap / figure.dpi > 0.15  # inches


def test_a_heading_is_translated_unless_it_is_a_name() -> None:
    with translation.override("de"):
        assert Column("baseline").heading == "Vergleichswert"
        assert Column("baseline", verbatim=True).heading == "baseline"  # a metric may have this name


def test_a_table_in_a_terminal_has_names_at_the_left_and_numbers_at_the_right() -> None:
    table = plain_table("", [("metric", "text"), ("n", "count")], [("cider", 9), ("bleu-4-long", 1200)])
    assert table.lines() == ["metric           n", "cider            9", "bleu-4-long  1,200"]


@pytest.mark.parametrize(
    ("ticks", "labels"),
    [
        ((1, 2, 5, 10), ["1", "2", "5", "10"]),
        ((1, 10, 12), ["1", "", "12"]),
        ((1, 10, 12, 14), ["1", "", "", "14"]),  # 14 is too close to 10, which has the label before
    ],
)
def test_labels_of_a_logarithmic_axis_are_never_close(ticks: tuple[float, ...], labels: list[str]) -> None:
    panel = CurvePanel("", (Curve("bleu-4", ticks, tuple(0.5 for _ in ticks)),))
    axes = curves_figure(LinePlot((panel,), "references", "accuracy"), 0.0).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == labels
