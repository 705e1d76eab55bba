"""H13's agreement figures on the files its authors released: documented calls of `agreement --with`."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from contrib.comparing.sources.comparison import compare_sources
from contrib.comparing.sources.files import read_source
from contrib.comparing.sources.judgments import SourceJudgments
from tests.refusals import refuses

AT_LEAST: dict[str, Any] = {"first_at_least": 0.66, "second_at_least": 3.33}


@pytest.fixture(scope="module")
def sources(shared: Path) -> tuple[SourceJudgments, SourceJudgments]:
    """The crowd and the experts."""
    folder = shared / "data/flickr8k"
    return read_source(folder, format="flickr8k-crowd"), read_source(folder, format="flickr8k-expert")


def compare(folder: Path, tmp_path: Path, **options: Any) -> dict[str, Any]:
    """The command at H13's thresholds."""
    output = tmp_path / "figures.json"
    call_command(
        "agreement", folder, second=folder, first_format="flickr8k-crowd", second_format="flickr8k-expert",
        output=output, stdout=StringIO(), stderr=StringIO(), **AT_LEAST, **options,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return found


def test_the_released_files_give_the_known_figures_with_intervals_around_them(
    shared: Path, tmp_path: Path
) -> None:
    figures = compare(shared / "data/flickr8k", tmp_path, missing="no")
    experts = figures["second"]
    assert round(experts["alpha"]["value"], 3) == 0.788
    assert round(experts["ordinal"]["value"], 3) == 0.694
    assert experts["alpha"]["low"] < 0.788 < experts["alpha"]["high"] < 0.81
    assert (experts["units"], experts["judgments"]) == (5822, 17466)
    (cell,) = figures["thresholds"]["cells"]
    assert round(cell["kappa"]["value"], 3) == 0.786
    assert cell["kappa"]["low"] < 0.79 < cell["kappa"]["high"]
    # 2,329 pairs are in both files; the crowd never saw the others that the experts graded.
    assert cell["n"] == 5822
    assert figures["missing"] == {"policy": "no", "taken_as_no": 5822 - 2329, "left_out": 47830 - 2329}
    assert cell["both"] + cell["first_only"] + cell["second_only"] + cell["neither"] == 5822


def test_without_the_pairs_that_the_crowd_never_saw_kappa_is_another_one(
    sources: tuple[SourceJudgments, SourceJudgments],
) -> None:
    figures = compare_sources(*sources, resamples=20, **AT_LEAST)
    (cell,) = figures["thresholds"]["cells"]
    assert (cell["n"], figures["missing"]["taken_as_no"]) == (2329, 0)
    assert round(cell["kappa"]["value"], 3) == 0.772


def test_without_thresholds_the_grid_of_the_papers_table_is_given_with_its_best_cell(
    sources: tuple[SourceJudgments, SourceJudgments],
) -> None:
    grid = compare_sources(*sources, missing="no", resamples=10)["thresholds"]
    assert (len(grid["first"]), len(grid["second"])) == (3, 7)
    assert (grid["best"]["first_at_least"], grid["best"]["second_at_least"]) == (0.66, 3.33)


def test_a_folder_without_the_files_or_with_a_damaged_line_is_refused_in_one_line(tmp_path: Path) -> None:
    with refuses(CommandError, "CrowdFlowerAnnotations.txt"):
        compare(tmp_path, tmp_path)
    (tmp_path / "CrowdFlowerAnnotations.txt").write_text("a.jpg\tb.jpg#2\t1\t3\t0\n", encoding="utf-8")
    (tmp_path / "ExpertAnnotations.txt").write_text("a.jpg\tb.jpg#2\t1\t2\t5\n", encoding="utf-8")
    with refuses(CommandError, "ExpertAnnotations.txt", "1", "grade", "5"):
        compare(tmp_path, tmp_path)
