"""Who is ahead, said alike by pages, report, API, command and library."""

import json
import re
from collections.abc import Callable
from html import unescape
from io import StringIO
from itertools import combinations, cycle
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings as DjangoSettings

from common.amounts import NO_BREAK, as_json
from evaluation.data.releases.bundle import MANIFEST
from evaluation.data.releases.settings import ReleaseSettings
from evaluation.reports.releases.verification import verify_bundle
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from evaluation.results.one_against_rest import share_with_interval
from evaluation.results.verdict import Verdict, correlation_verdict, pair_verdict
from judgments.models import Study
from quorum.statistics.correlation import correlation
from quorum.statistics.meta import PeoplesWinners
from tests.evaluation.reporting import contents, graded, make_report, pairwise, rewrite, words
from tests.evaluation.studies import StudyOf, make_dataset
from tests.evaluation.test_releases import released
from tests.judgments.desk import page

METRICS = ["bleu-1", "rouge-l", "cider-d"]


def of_pairs(**wrong: range) -> Verdict:
    """The verdict on 40 pairs, where each metric is wrong on those named."""
    named = {name: np.where(np.isin(np.arange(40), there), 2, 1) for name, there in wrong.items()}
    cells = {name: share_with_interval(int((one == 1).sum()), 40) for name, one in named.items()}
    people = PeoplesWinners.from_winners(np.ones(40))
    return plain_spaces(pair_verdict(named, people, np.ones(40, dtype=np.bool_), cells))


def plain_spaces(verdict: Verdict) -> Verdict:
    return {**verdict, "sentence": verdict["sentence"].replace(NO_BREAK, " ")}


def test_a_metric_is_ahead_where_exact_tests_part_it_from_each_other_one() -> None:
    # 20 pairs on which only the best is right: p = 2 / 2^20, times 2 at most
    found = of_pairs(poor=range(20), best=range(0), worse=range(15, 40))
    assert found["settled"]
    assert found["leaders"] == ["best"]
    assert found["sentence"] == (
        "best is ahead of the other 2 (p < .001, exact McNemar tests, Holm’s correction): it names people’s winner on "
        "100 % of 40 pairs (95 % interval 91 to 100 %)."
    )


def test_where_tests_do_not_part_the_best_no_sentence_names_one_of_them_alone() -> None:
    found = of_pairs(poor=range(20), best=range(0), same=range(1))
    assert not found["settled"]
    assert found["leaders"] == ["best", "same"]
    assert found["p"] == pytest.approx(2 * 2 / 2**20)  # Holm: the smaller of two with the best
    assert found["sentence"] == (
        "No metric is ahead of all others. best and same share the top: they name people’s winner on 98 to 100 % of 40 "
        "pairs. Behind is poor (p < .001, exact McNemar tests, Holm’s correction)."
    )
    tied = of_pairs(one=range(3), two=range(1, 4))
    assert tied["sentence"] == (
        "No metric is ahead. There is no significant difference between one and two (p > .999, exact McNemar tests, "
        "Holm’s correction). They name people’s winner on 92 % of 40 pairs."
    )
    alone = of_pairs(one=range(3))
    assert not alone["settled"]
    assert alone["sentence"].startswith("one is the only metric:")


def of_captions(people: np.ndarray[Any, Any], **scores: np.ndarray[Any, Any]) -> Verdict:
    """The verdict on captions of as many items, judged by nobody in particular."""
    clusters = {"item": np.arange(len(people))}
    cells = {
        name: as_json(
            correlation(metric, people, "kendall-tau-b", clusters=clusters), "value", "low", "high", "n"
        )
        for name, metric in scores.items()
    }
    return plain_spaces(correlation_verdict(scores, people, clusters, cells))


def test_correlations_are_parted_by_tests_of_their_differences() -> None:
    generator = np.random.default_rng(5)
    people = generator.normal(size=300)
    noise = generator.normal(size=(3, 300))
    ahead = of_captions(people, a=people + 6 * noise[0], b=people + noise[1])
    assert (ahead["settled"], ahead["leaders"], ahead["rest"]) == (True, ["b"], ["a"])
    assert ahead["compared"] == {"a": ahead["p"]}
    assert ahead["sentence"].startswith(
        "b is ahead of a (p < .001, t tests by item, Holm’s correction): its tau-b with people is ."
    )
    close = of_captions(people, a=people + noise[0], b=people + noise[1], c=-people + noise[2])
    assert (close["settled"], set(close["leaders"]), close["rest"]) == (False, {"a", "b"}, ["c"])
    assert "No metric is ahead of all others. " in close["sentence"]
    assert " Behind is c (p < .001, t tests by item, Holm’s correction). " in close["sentence"]
    assert close["sentence"].endswith(
        f"a study with {close['more']:,} new items would find a winner with a probability of 80 %."
    )
    undefined = {"value": None, "low": None, "high": None, "n": 2, "reason": "all scores are equal"}
    scores, nobody = {"a": np.zeros(2)}, np.full(2, np.nan)
    assert correlation_verdict(scores, nobody, {"item": np.arange(2)}, {"a": undefined})["sentence"] == (
        "No metric can be compared with people: a (all scores are equal)."
    )


def settled() -> StudyOf:
    """Twelve pairs in which people prefer a beginning of the reference to all its words in disorder.

    bleu-1 counts words wherever they stand, rouge-l only those in order.
    """
    animals = ("cat", "dog", "cow", "hen", "fox", "owl", "bee", "ant", "pig", "ram", "elk", "yak")
    dataset = make_dataset("row", {f"{one}.jpg": [f"a brown {one} runs on green grass"] for one in animals})
    made = StudyOf(dataset, "pairwise", controls={"per_hit": 0})
    units = []
    for one in animals:
        ordered, mixed = f"a brown {one} runs somewhere", f"grass green on runs {one} brown a"
        pair = made.pair(f"p-{one}", f"{one}.jpg", ordered, mixed)
        units.append(made.unit(f"u-{one}", pair=pair))
    hit = made.hit("h1", units)
    for worker in ("w-1", "w-2", "w-3"):
        made.answer(hit, worker, [1] * len(units))
    return made


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("made", "metrics"), [(pairwise, METRICS), (graded, METRICS), (settled, ["bleu-1", "rouge-l"])]
)
def test_every_door_says_the_same_of_the_same_judgments(
    made: Callable[[], StudyOf],
    metrics: list[str],
    designer: Client,
    settings: DjangoSettings,
    tmp_path: Path,
) -> None:
    settings.EXPORT_ROOT = tmp_path
    study = made().study
    aggregate_study(study=study)
    said = evaluate_study(study=study, metrics=metrics)["verdict"]["all"]
    assert said["settled"] is (made is settled)
    sentence = said["sentence"]
    assert all(name in sentence for name in said["leaders"])
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    shown = words(designer.get(page(study, "results")))
    assert sentence.replace(NO_BREAK, " ") in shown.replace(NO_BREAK, " ")
    assert ("Not decided:" in shown) is not said["settled"]
    (section,) = (one for one in build_report(study).sections if one.name == "metrics")
    assert section.sentences[0].startswith(sentence)
    make_report(designer, study)
    assert sentence.replace(NO_BREAK, " ") in words(designer.get(page(study, "report"))).replace(
        NO_BREAK, " "
    )
    files = contents(next(tmp_path.rglob("*.zip")))
    assert sentence.replace(NO_BREAK, " ") in files["report.json"].decode().replace("\\u202f", " ").replace(
        NO_BREAK, " "
    )
    paper = unescape(re.sub(r"<[^>]+>", "", files["index.html"].decode())).replace(NO_BREAK, " ")
    assert sentence.replace(NO_BREAK, " ") in " ".join(paper.split())
    told = designer.get(f"/api/studies/{study.slug}/evaluation/").json()
    assert told["result"]["verdict"]["all"] == said
    out = StringIO()
    call_command("evaluate", study.slug, metrics=",".join(metrics), stdout=out)
    assert sentence in out.getvalue()


@pytest.mark.django_db
@pytest.mark.usefixtures("undrawn")
def test_a_release_of_before_keeps_its_words_and_verifies(tmp_path: Path) -> None:
    """Its report named one metric as the best, and items images; a new one says what the tests say."""

    def sentence(path: Path) -> str:
        sections = json.loads(contents(path)["report/report.json"])["sections"]
        return str(next(one for one in sections if one["name"] == "metrics")["sentences"][0])

    study = pairwise().study
    with patch(
        "evaluation.reports.releases.making.ReleaseSettings",
        lambda **values: ReleaseSettings(**values | {"wording": 0}),
    ):
        released(study, tmp_path / "old.zip")
    assert "wording" not in json.loads(contents(tmp_path / "old.zip")[MANIFEST])["settings"]
    assert "names the winner people name most often: on 50.0 %" in sentence(tmp_path / "old.zip")
    assert verify_bundle(tmp_path / "old.zip").differences == ()
    released(study, tmp_path / "new.zip", version="1.1")
    assert sentence(tmp_path / "new.zip").startswith("No metric is ahead.")
    assert verify_bundle(tmp_path / "new.zip").differences == ()

    def say_image(files: dict[str, bytes]) -> None:
        assert b" by item" in files["report/report.json"]
        files["report/report.json"] = files["report/report.json"].replace(b" by item", b" by image")

    for name in ("old.zip", "new.zip"):
        rewrite(tmp_path / name, say_image, hashed=True)
    assert verify_bundle(tmp_path / "old.zip").differences == ()
    assert any("by image" in line for line in verify_bundle(tmp_path / "new.zip").differences)


@pytest.mark.django_db
@pytest.mark.usefixtures("undrawn")
def test_a_release_with_the_former_words_of_a_reason_verifies_whole(tmp_path: Path) -> None:
    images = {f"{name}.jpg": [f"a {name} runs"] for name in ("cat", "dog")}
    study = StudyOf(make_dataset("pets", images), "graded", imported=True, controls={"per_hit": 0})
    for name in ("cat", "dog"):
        unit = study.unit(f"u-{name}", image=f"{name}.jpg", first=f"a {name} runs")
        study.answer(study.hit(f"h-{name}", [unit]), "ann", [3])

    def say_unit(files: dict[str, bytes]) -> None:
        reports = [name for name, data in files.items() if b"no item has two judgments" in data]
        assert {"report/report.json", "report/report.md", "report/report.tex"} <= set(reports)
        for name in reports:
            files[name] = files[name].replace(b"no item has two judgments", b"no unit has two judgments")

    for wording in (1, 2):
        path = tmp_path / f"{wording}.zip"
        with patch(
            "evaluation.reports.releases.making.ReleaseSettings",
            lambda number=wording, **values: ReleaseSettings(**values | {"wording": number}),
        ):
            released(study.study, path, version=f"{wording}.0")
        rewrite(path, say_unit, hashed=True)
    assert verify_bundle(tmp_path / "1.zip").differences == ()
    assert "report/report.md is not what" in " ".join(verify_bundle(tmp_path / "2.zip").differences)


@pytest.mark.django_db
@pytest.mark.parametrize("systems", [("one", "two"), ("one", "two", "three")])
def test_two_systems_have_no_correlation_and_anonymous_votes_no_count_of_people(
    systems: tuple[str, ...],
) -> None:
    dataset = make_dataset("toy", {f"{name}.jpg": [f"a {name} runs"] for name in ("cat", "dog", "cow")})
    study = StudyOf(dataset, "pairwise", imported=True, controls={"per_hit": 0})
    for name in ("cat", "dog", "cow"):
        pair = study.pair(f"p-{name}", f"{name}.jpg", f"a {name} runs", f"a {name}")
        hit = study.hit(f"h-{name}", [study.unit(f"u-{name}", pair=pair)])
        for number in range(3):
            study.answer(hit, f"anon-{number}", [1], anonymous=True)
    meetings = cycle(combinations(systems, 2))
    with patch(
        "evaluation.data.judgment_sets.loaders.systems_of_pairs",
        lambda found: {pair.key: next(meetings) for pair in found.pairs.all()},
    ):
        report = build_report(study.study)
    sections = {one.name: one for one in report.sections}
    assert sections["collection"].sentences[0].startswith("Anonymous people gave 9 judgments;")
    assert "workers" not in [row[0] for row in sections["collection"].tables[0].rows]
    (table,) = (one for one in report.tables if one.name == "tournament-by-metrics")
    assert {row[1] is None for row in table.rows} == {len(systems) == 2}
    assert ("no correlation" in table.note) == (len(systems) == 2)
