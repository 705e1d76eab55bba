"""H13's agreement figures on the files its authors released."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from evaluation.flickr8k_agreement import flickr8k_agreement


def test_the_released_files_give_the_known_figures_with_intervals_around_them(shared: Path) -> None:
    figures = flickr8k_agreement(shared / "data/flickr8k", resamples=2000, seed=0)
    alpha, kappa = figures.alpha_interval, figures.kappa
    assert round(alpha.value, 3) == 0.788
    assert round(figures.alpha_ordinal.value, 3) == 0.694
    assert alpha.low < 0.788 < alpha.high < 0.81
    assert (alpha.units, alpha.judgments) == (5822, 17466)
    assert round(kappa.kappa.value, 3) == 0.786
    assert kappa.kappa.low < 0.79 < kappa.kappa.high
    # 2,329 pairs are in both files; the crowd never saw the others.
    assert (kappa.n, kappa.filled) == (5822, 5822 - 2329)
    assert figures.kappa_seen.n == 2329
    assert kappa.both + kappa.first_only + kappa.second_only + kappa.neither == 5822


def test_the_command_prints_them_beside_the_published_ones_with_the_convention(shared: Path) -> None:
    printed = StringIO()
    call_command("flickr8k_agreement", shared / "data/flickr8k", resamples=200, stdout=printed)
    text = " ".join(printed.getvalue().split())
    assert "published 0.81" in text
    assert "interval level 0.788" in text
    assert "published 0.79" in text
    assert "unseen = not relevant 0.786" in text
    assert "3,493 that the filter kept from the crowd count as not relevant" in text
    assert "n = 5,822 pairs" in text
    assert "200 resamples, seed 0" in text


def test_the_figures_can_be_had_as_json(shared: Path, tmp_path: Path) -> None:
    output = tmp_path / "figures.json"
    call_command(
        "flickr8k_agreement", shared / "data/flickr8k", resamples=50, output=output, stdout=StringIO()
    )
    figures = json.loads(output.read_text(encoding="utf-8"))
    assert round(figures["alpha_interval"]["value"], 3) == 0.788
    assert figures["alpha_interval"]["published"] == 0.81
    assert figures["kappa"]["n"] == 5822


def test_a_folder_without_the_files_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        CommandError, match=r"a folder without ExpertAnnotations.txt, expected that file in it\."
    ):
        call_command("flickr8k_agreement", tmp_path)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "ExpertAnnotations.txt").write_text("a.jpg\tb.jpg#2\t1\t2\t5\n", encoding="utf-8")
    with pytest.raises(CommandError, match=r"ExpertAnnotations.txt, line 1, grade: found \"5\", expected"):
        call_command("flickr8k_agreement", tmp_path)
