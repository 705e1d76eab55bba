"""Floors and ceilings of a report's figures, numbers worked out by hand; and numbers as they are printed."""

import re
from typing import Any

import numpy as np
import pytest

from evaluation.presentation.content import (
    Column,
    Curves,
    Dots,
    Estimate,
    Heat,
    Plot,
    Report,
    Table,
    p_in_text,
    p_value,
)
from evaluation.presentation.rendering import render_table
from evaluation.reports.sections.people import one_against_cut, one_against_mean
from evaluation.reports.storage import ENTRIES, bibtex, build_report, fields_of
from evaluation.statistics.correlation import correlation
from judgments.kinds import KINDS
from judgments.models import Output, System
from tests.evaluation.reporting import IMAGES, graded, pairwise, rolled_back
from tests.evaluation.studies import StudyOf, candidate, make_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def of_grades(django_db_setup: None, django_db_blocker: Any) -> Report:
    with rolled_back(django_db_blocker):
        return build_report(graded().study, metrics=["bleu-1", "rouge-l"])


@pytest.fixture(scope="module")
def of_pairs(django_db_setup: None, django_db_blocker: Any) -> Report:
    with rolled_back(django_db_blocker):
        return build_report(pairwise().study, metrics=["bleu-1", "rouge-l"])


def plots(report: Report) -> dict[str, Plot]:
    return {plot.name: plot for plot in report.plots}


def levels(plot: Plot) -> set[str]:
    """What the floors and ceilings of a figure are called."""
    drawing: Any = plot.drawing
    found = {level.label for panel in drawing.panels for level in getattr(panel, "levels", ())}
    found |= {bound.label for panel in drawing.panels for bound in getattr(panel, "bounds", ())}
    return found


@pytest.mark.parametrize(
    ("p", "table", "sentence"),
    [
        (0.0, "<\u00a0.001", "p <\u00a0.001"),
        (0.0009, "<\u00a0.001", "p <\u00a0.001"),
        (0.001, ".001", "p = .001"),
        (0.0128, ".013", "p = .013"),
        (0.05, ".050", "p = .050"),
        (0.99, ".990", "p = .990"),
        (0.9996, ">\u00a0.999", "p >\u00a0.999"),
        (1.0, ">\u00a0.999", "p >\u00a0.999"),
        (float("nan"), "–", "p = –"),
    ],
)
def test_a_p_is_printed_as_journals_do(p: float, table: str, sentence: str) -> None:
    assert p_value(p) == table
    assert p_in_text(p) == sentence


def test_tables_print_a_p_alike_and_their_data_has_every_digit() -> None:
    columns = (Column("what"), Column("p", "p"))
    table = Table("t", "T", columns, (("a", 1.0), ("b", 1.5e-7), ("c", 0.0128)))
    assert "&gt;\u00a0.999" in render_table(table, "html")
    assert r"\textgreater{}~.999" in render_table(table, "tex")
    assert r"\textless{}~.001" in render_table(table, "tex")
    assert r"\< .001" in render_table(table, "md")
    assert render_table(table, "csv").splitlines()[1:] == ["a,1.0", "b,1.5e-07", "c,0.0128"]


def test_one_judge_s_coefficients_against_the_others_by_hand() -> None:
    """Two judges a unit: each is held against the other, so that both orders count."""
    unit = np.repeat(np.arange(4), 2)
    value = np.array([1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 4.0, 3.0])
    others = value.reshape(4, 2)[:, ::-1].ravel()
    r = one_against_mean(unit, value, coefficient="pearson", seed=1, resamples=0).value
    assert r == pytest.approx(np.corrcoef(value, others)[0, 1])


def of_units(generator: np.random.Generator, units: int, judges: int) -> tuple[Any, Any]:
    """Grades from 1 to 4 of which a unit's are alike, but for a step now and then."""
    grade = generator.integers(1, 5, size=units)
    step = generator.integers(-1, 2, size=(units, judges))
    return np.repeat(np.arange(units), judges), np.clip(grade[:, None] + step, 1, 4).ravel().astype(float)


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall-tau-b"])
def test_one_judge_s_interval_draws_units_and_not_their_judgments(name: str) -> None:
    """Beside a bootstrap that draws whole units and computes every coefficient again."""
    generator = np.random.default_rng(5)
    unit, value = of_units(generator, 15, 20)
    found = one_against_mean(unit, value, coefficient=name, seed=1, resamples=400)
    rows = value.reshape(15, 20)
    drawn = [
        one_against_mean(
            unit, rows[generator.integers(0, 15, size=15)].ravel(), coefficient=name, seed=1, resamples=0
        )
        for _ in range(400)
    ]
    low, high = np.quantile([one.value for one in drawn if one.value is not None], [0.025, 0.975])
    assert found.low is not None
    assert found.high is not None
    assert (found.low, found.high) == (pytest.approx(low, abs=0.03), pytest.approx(high, abs=0.03))
    others = (rows.sum(axis=1, keepdims=True) - rows) / 19
    narrow = correlation(value, others.ravel(), name, resamples=400, seed=1)
    assert found.high - found.low > 1.5 * (narrow.high - narrow.low)


def test_one_judge_s_interval_is_the_same_whatever_units_are_called() -> None:
    unit, value = of_units(np.random.default_rng(6), 30, 3)
    one = one_against_mean(unit, value, seed=1, resamples=200)
    assert one == one_against_mean(1000 - unit * 7, value, seed=1, resamples=200)


def test_one_judge_s_kappa_at_a_cut_by_hand() -> None:
    """Three judges, two units. At 3: unit one has 4, 4, 1, whose others' means are 2.5, 2.5 and 4; unit two 1, 1, 1.
    The judge says yes on 2 of 6, the others on 1, never both: po = 3/6, pe = (2*1 + 4*5)/36 = 22/36."""
    unit, value = np.repeat([7, 9], 3), np.array([4.0, 4.0, 1.0, 1.0, 1.0, 1.0])
    found = one_against_cut(unit, value, [3.0, 5.0], seed=1, resamples=200)
    assert found[3.0].value == pytest.approx((3 / 6 - 22 / 36) / (1 - 22 / 36))
    assert found[3.0].n == 6
    assert found[5.0] == Estimate(None)  # nobody says yes
    assert one_against_cut(np.arange(3), np.array([1.0, 2.0, 3.0]), [2.0], seed=1, resamples=10) == {}


def test_people_who_agree_reach_a_kappa_of_one_with_its_interval() -> None:
    unit, value = np.repeat(np.arange(10), 2), np.repeat([1.0, 4.0] * 5, 2)
    found = one_against_cut(unit, value, [3.0], seed=1, resamples=200)[3.0]
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_every_figure_of_grades_has_its_floor_and_ceiling(of_grades: Report) -> None:
    found = plots(of_grades)
    assert levels(found["agreement"]) == {"chance", "reliable from .80", "full agreement"}
    assert levels(found["correlation"]) == {"chance", "one judge"}
    assert levels(found["kappa"]) == {"chance", "full agreement"}
    kappa = found["kappa"].drawing
    assert isinstance(kappa, Heat)
    for panel in kappa.panels:
        assert (panel.rows[-1], panel.apart) == ("one judge", 1)
        assert any(value is not None for value in panel.values[-1])
    for end in ("r", "rho", "tau-b"):
        matrix = found[f"metric-correlation-{end}"]
        assert levels(matrix) == {"unrelated", "one judge"}
        assert "One judge against the mean of the others reaches" in matrix.sentence
        assert isinstance(matrix.drawing, Heat)
        (panel,) = matrix.drawing.panels
        assert panel.rows == ("bleu-1", "rouge-l", "people")
        assert [row[0] for row in matrix.data.rows] == [*panel.rows]
        assert [tuple(row[1:]) for row in matrix.data.rows] == [*panel.values]


def test_the_matrices_hold_each_their_own_coefficient(of_grades: Report) -> None:
    (table,) = [table for table in of_grades.tables if table.name == "metric-correlation"]
    (tau, rho, r) = next(row[2:5] for row in table.rows if row[:2] == ("bleu-1", "rouge-l"))
    for end, value in (("tau-b", tau), ("rho", rho), ("r", r)):
        drawing = plots(of_grades)[f"metric-correlation-{end}"].drawing
        assert isinstance(drawing, Heat)
        assert drawing.panels[0].values[0][1] == drawing.panels[0].values[1][0] == value


def test_where_people_score_no_captions_the_figure_says_why_it_has_no_ceiling(of_pairs: Report) -> None:
    matrix = plots(of_pairs)["metric-correlation-r"]
    assert levels(matrix) == {"unrelated"}
    assert "No ceiling is drawn: people choose between captions" in matrix.sentence


def test_a_single_vote_a_unit_leaves_the_correlation_without_a_ceiling() -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "graded")
    texts = ["A dog runs on grass", "Blue cars", "A dog", "The dog runs"]
    made.judge_texts(texts, {"w-1": [4, 1, 3, 4]})
    found = plots(build_report(made.study, metrics=["bleu-1", "rouge-l"]))
    assert levels(found["correlation"]) == {"chance"}
    for name in ("correlation", "kappa", "metric-correlation-rho"):
        assert "No ceiling is drawn: too few units have two judgments" in found[name].sentence


def test_grades_of_systems_stand_between_a_random_and_the_best_judged_caption() -> None:
    """One image, captions graded 4, 2 and 1, of which the system puts the second best first."""
    made = StudyOf(make_dataset("pets", {"a.jpg": ["a dog"]}), "graded")
    row = System.objects.create(dataset=made.dataset, name="second")
    Output.objects.create(
        system=row, item=made.dataset.items.get(), caption=candidate(made.dataset, "two"), rank=1
    )
    units = [made.unit(f"u-{text}", "a.jpg", first=text) for text in ("one", "two", "three")]
    made.answer(made.hit("h1", units), "w-1", [4, 2, 1])
    plot = plots(build_report(made.study, metrics=["bleu-1"]))["grades"]
    assert isinstance(plot.drawing, Curves)
    floor, ceiling = plot.drawing.panels[0].bounds
    assert (floor.x[0], floor.x[-1]) == (4.0, 2.0)
    assert (floor.y[0], floor.y[-1]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert set(ceiling.y) == {1.0}
    assert [row[0] for row in plot.data.rows] == ["second", "random judged one", "best judged one"]
    assert "Floor: a caption drawn at random" in plot.sentence


def test_captions_of_people_are_the_ceiling_of_a_tournament() -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "pairwise")
    machine = System.objects.create(dataset=made.dataset, name="machine")
    pair = made.pair("p1", "a.jpg", "A dog .", "Cars", kind="HM")
    pair.second_system = machine
    pair.save()
    hit = made.hit("h1", [made.unit("u1", pair=pair)])
    made.answer(hit, "w-1", [1])
    plot = plots(build_report(made.study, metrics=["bleu-1"]))["tournament"]
    assert levels(plot) == {"even", "human captions"}
    assert "Ceiling: captions that people wrote." in plot.sentence
    pair.first_system = System.objects.create(dataset=made.dataset, name="other machine")
    pair.save()
    plot = plots(build_report(made.study, metrics=["bleu-1"]))["tournament"]
    assert levels(plot) == {"even"}
    assert "No ceiling is drawn: no captions that people wrote took part." in plot.sentence


def test_control_items_are_drawn_with_what_guessing_gets(of_pairs: Report) -> None:
    found = plots(of_pairs)
    assert levels(found["workers"]) == {"rule", "guessing", "all together"}
    assert "Guessing would get 50 %." in found["workers"].sentence
    assert isinstance(found["workers"].drawing, Dots)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.guessed_right is not None])
def test_guessing_is_the_share_of_values_that_a_control_item_takes(name: str) -> None:
    kind: Any = KINDS[name]
    for expected in (kind.good, kind.bad) if hasattr(kind, "good") else kind.values:
        right = sum(kind.is_right(value, expected) for value in kind.values)
        assert right / len(kind.values) == kind.guessed_right


# BibTeX's standard styles ask for these; what they lack they warn of
WANTED = {
    "article": {"author", "title", "journal", "year", "volume", "pages"},
    "inproceedings": {"author", "title", "booktitle", "year", "pages"},
    "techreport": {"author", "title", "institution", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "year", "howpublished"},
}


@pytest.mark.parametrize("key", [*ENTRIES])
def test_a_bibliography_entry_has_its_fields_and_keeps_its_capitals(key: str) -> None:
    kind, fields = ENTRIES[key].partition("{")[0].removeprefix("@"), fields_of(key)
    assert WANTED[kind] <= set(fields)
    assert len(fields) == len(ENTRIES[key].splitlines()) - 2
    for value in fields.values():
        assert value.count("{") == value.count("}")
        assert value.isascii()  # old programs know no UTF-8
    assert re.fullmatch(r"(1[89]|20)\d\d", fields["year"])
    assert re.fullmatch(r"10\.\d{4,}/\S+", fields.get("doi", "10.1000/none"))
    assert re.fullmatch(r"\d+--\d+", fields.get("pages", "1--2"))
    # a style that writes titles small keeps what stands in braces: words with capitals inside, and letters alone
    bare = re.sub(r"\{[^}]*\}", "", fields["title"])
    assert not re.findall(r"\b\w+[A-Z]\w*|\b[B-Z]\b", bare)
    assert bibtex([key]) == ENTRIES[key]
