"""Results for the dashboard as a page and a screen reader meet them."""

from itertools import pairwise

from defusedxml.ElementTree import fromstring

from contrib.dashboard.plots import earlier_figure, growth_figure, metrics_figure
from evaluation.presentation.plots.figures import LINE_COLOURS
from tests.evaluation.test_figures import SVG, cell, words


def test_a_metric_s_curve_has_a_colour_and_a_sign_of_its_own_beside_its_name() -> None:
    names = ["bleu-1", "bleu-4", "rouge-l", "cider", "cider-d"]
    rows = [{"judgments": at, "value": 0.6, "low": None, "high": None} for at in (10, 20)]
    svg = earlier_figure(
        "all",
        {"earlier": dict.fromkeys(names, rows), "verdict": {"leaders": names}},
        correlated=False,
    )
    assert set(names) <= set(words(svg))
    assert len({colour for colour in LINE_COLOURS if svg.count(colour.lower()) > 1}) == len(names)


def test_names_beside_curves_that_end_at_the_top_lie_one_below_the_other_within_the_plot() -> None:
    names = ["bleu-1", "bleu-4", "cider", "cider-d", "rouge-l"]
    rows = [{"judgments": at, "value": 0.98, "low": None, "high": None} for at in (10, 20)]
    svg = earlier_figure(
        "all",
        {"earlier": dict.fromkeys(names, rows), "verdict": {"leaders": names}},
        correlated=False,
    )
    heights = sorted(
        float(text.get("y", "")) for text in fromstring(svg).iter(f"{SVG}text") if text.text in names
    )
    assert len(heights) == len(names)
    assert heights[0] > 0
    assert all(below - above > 9 for above, below in pairwise(heights))  # pixels, of letters of 7.5


def test_a_metric_that_agrees_by_chance_alone_is_drawn_before_one_without_a_value() -> None:
    metrics = {"meteor": cell(None), "bleu-1": cell(0.0), "rouge-l": cell(-0.5)}
    drawn = metrics_figure("HC", {"metrics": metrics, "verdict": {"leaders": ["bleu-1"]}}, correlated=True)
    assert "bleu-1 .00; rouge-l -.50." in drawn


def test_the_axis_of_agreement_is_that_of_the_later_intervals_and_not_of_the_first_wide_one() -> None:
    rows = [
        {"judgments": 10 * at, "n": at, "value": 0.5, "low": low, "high": high}
        for at, (low, high) in enumerate([(-0.8, 1.0)] + [(0.42, 0.58)] * 7, start=1)
    ]
    ticks = [float(word) for word in words(growth_figure(rows)) if "." in word]
    assert 0.3 < min(ticks) <= 0.45
    assert 0.54 <= max(ticks) < 0.7
