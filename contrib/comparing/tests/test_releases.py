"""Two releases of a study compared, on the page Releases and by the command."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from annotation.models import Judgment, Worker
from annotation.quality.exclusions import exclude_worker
from contrib.comparing.releases import compare_bundles
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.reports.releases.making import release_study
from judgments.models import Study
from tests.evaluation.studies import StudyOf, make_dataset, three_pairs
from tests.evaluation.test_release_pages import TERMS, do, page, words, work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("undrawn")]


@pytest.fixture
def study(settings: Settings, tmp_path: Path) -> Study:
    """Three pairs judged by two people, closed; exports lie in a folder of the test's own."""
    settings.EXPORT_ROOT = tmp_path / "exports"
    return three_pairs("<i>dog</i>", [1, 2, 2]).study


def test_two_releases_are_compared(designer: Client, study: Study) -> None:
    do(designer, study, "release", **TERMS)
    work("release")
    worker = Worker.objects.get(name="ben")
    exclude_worker(study=study, worker=worker, why="never looked")
    do(designer, study, "release", **TERMS | {"version": "1.1"})
    work("release")
    assert "Choose two" in words(do(designer, study, "compare-releases", before="1.0", after="1.0"))
    do(designer, study, "compare-releases", before="1.0", after="1.1")
    work("compare_releases")
    answer = words(designer.get(page(study)))
    assert "6 to 6: 0 added, 0 removed, 3 no longer used" in answer
    assert "From 1.0 to 1.1" in answer


def test_what_changed_is_told_although_people_have_other_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = StudyOf(
        make_dataset("toy", {"a.jpg": ["a dog"], "b.jpg": ["a cat"]}), "pairwise", controls={"per_hit": 0}
    )
    pairs = [study.pair("p1", "a.jpg", "a", "b"), study.pair("p2", "b.jpg", "c", "d")]
    hit = study.hit("h", [study.unit(f"u-{pair.key}", pair=pair) for pair in pairs], required=5)
    study.answer(hit, "w-1", [1, 1], minutes=3)
    study.answer(hit, "w-2", [1, 2], minutes=4)
    paths = [tmp_path / "1.0.zip", tmp_path / "1.1.zip"]
    release_study(study=study.study, terms=ReleaseTerms("1.0", "CC0-1.0"), output=paths[0])
    study.answer(hit, "w-3", [2, 2], minutes=5)
    Judgment._base_manager.filter(assignment__worker__name="w-1", unit__key="u-p1").update(set_aside=True)
    release_study(study=study.study, terms=ReleaseTerms("1.1", "CC0-1.0"), output=paths[1])
    found = compare_bundles(*paths)
    assert found["versions"] == ["1.0", "1.1"]
    assert found["judgments"] == {"before": 4, "after": 6, "added": 2, "removed": 0, "no_longer_used": 1}
    assert {(row["unit"] or row["pair"]): (row["before"], row["after"]) for row in found["consensus"]} == {
        "u-p1": (1, None), "u-p2": (None, 2), "p1": (1, None), "p2": (None, 2),
    }  # fmt: skip
    call_command("compare_releases", *map(str, paths), "--output", str(tmp_path / "c.json"))
    assert "2 added, 0 removed, 1 no longer used" in capsys.readouterr().out
    assert (tmp_path / "c.json").is_file()
    same = compare_bundles(paths[1], paths[1])
    assert same["judgments"] == {"before": 6, "after": 6, "added": 0, "removed": 0, "no_longer_used": 0}
    assert same["consensus"] == same["swapped"] == []
