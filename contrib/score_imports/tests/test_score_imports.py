"""Scores of metrics that were computed elsewhere: imported, and beside the built-in metrics wherever those stand."""

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from common.environment import DEFAULT_LIMITS
from common.errors import DataConflict, QuorumError
from contrib.score_imports.reading import read_scores
from contrib.score_imports.storing import store_metric_scores
from evaluation.errors import EvaluationError
from evaluation.models import ImportedMetric, MetricScore, ScoreKeys
from evaluation.reports.releases.verification import verify_bundle
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from evaluation.results.operations import metric_choices
from judgments.importers.problems import ImportProblem
from judgments.models import Dataset, Item, Output, System
from quorum.numeric.signatures import parse
from tests.evaluation.reporting import contents, lines
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.metrics.test_score import MODULE, POINTS, install
from tests.refusals import assert_names, refuses

pytestmark = pytest.mark.django_db

IMAGES = {f"{letter}.jpg": [f"a brown dog {letter} runs", f"the dog {letter} plays"] for letter in "abcdefgh"}


def pairs_study(name: str = "toy", good: str = "good {}", poor: str = "poor {}") -> StudyOf:
    """Eight pairs; people prefer the first of each."""
    study = StudyOf(make_dataset(name, IMAGES), "pairwise")
    pairs = [study.pair(image, image, good.format(image), poor.format(image)) for image in IMAGES]
    hit = study.hit("h1", [study.unit(pair.key, pair=pair) for pair in pairs], required=1)
    study.answer(hit, "alma", [1] * len(pairs))
    return study


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def caption_rows(good: float, poor: float) -> list[dict[str, Any]]:
    return [
        {"image": image, "caption": f"{word} {image}", "score": value}
        for image in IMAGES
        for word, value in (("good", good), ("poor", poor))
    ]


def brought(dataset: Dataset, path: Path, name: str, **options: Any) -> Any:
    return store_metric_scores(dataset=dataset, files=read_scores(path, [name]), **options)


@pytest.mark.parametrize(
    ("name", "header", "row"),
    [
        ("s.csv", "image,caption,score\n", "{}.jpg,a dog that is number {},1\n"),
        ("s.jsonl", "", '{{"image": "{}.jpg", "caption": "a dog that is number {}", "score": 1}}\n'),
        ("names.seg.score", "", "system-{}-{}\t1\n"),
        ("quoted.seg.score", "", '"system-{}-{}\t1\n'),
    ],
    ids=["csv", "jsonl", "mt-metrics-eval", "mt-metrics-eval by line"],
)
def test_a_file_of_more_scores_than_memory_is_refused(
    tmp_path: Path, settings: Any, name: str, header: str, row: str
) -> None:
    settings.INCOMING = replace(DEFAULT_LIMITS, memory=4 * 2**20)
    dataset = make_dataset("toy", IMAGES)
    path = tmp_path / name
    path.write_text(header + "".join(row.format(n, n) for n in range(100_000)))
    with refuses(CommandError, "smaller", "2"):
        call_command("import_scores", path, dataset=dataset.name, metric=["comet"], unknown="leave-out")
    assert not ImportedMetric.objects.exists()


def test_an_imported_metric_stands_beside_the_built_in_ones(tmp_path: Path) -> None:
    study = pairs_study()
    brought(study.dataset, write(tmp_path / "comet.jsonl", caption_rows(0.9, 0.1)), "comet")
    found = evaluate_study(study=study.study, metrics=["bleu-1", "comet"])
    assert list(found["metrics"]) == ["bleu-1", "comet"]
    assert found["metrics"]["comet"]["accuracy"]["all"]["value"] == 1
    assert found["verdict"]["all"]["leaders"][0] == "comet"
    stored = MetricScore.objects.filter(metric="comet").values_list("first", "second")
    assert set(stored) == {(0.9, 0.1)}
    signature = parse(found["signatures"]["comet"])
    metric = ImportedMetric.objects.get()
    assert signature.fields == {
        "imported": "captions",
        "better": "higher",
        "scores": metric.sha256[:12],
        "file": "comet.jsonl",
    }
    assert f"imported:comet-{metric.sha256[:12]}" in study.study.analyses.get().signature


def test_the_signature_of_many_metrics_is_stored_whole(tmp_path: Path) -> None:
    study = pairs_study()
    names = [f"a-metric-with-a-long-name-in-a-row-of-many-{number}" for number in range(12)]
    rows = [row | dict.fromkeys(names, row["score"]) for row in caption_rows(0.9, 0.1)]
    store_metric_scores(dataset=study.dataset, files=read_scores(write(tmp_path / "many.jsonl", rows), names))
    evaluate_study(study=study.study, metrics=names)
    analysis = study.study.analyses.get()
    analysis.full_clean()
    assert len(analysis.signature) > 500
    assert study.study.events.get(what="evaluated").details["signature"] == analysis.signature


def test_where_lower_is_better_scores_are_turned_once(tmp_path: Path) -> None:
    study = pairs_study()
    brought(study.dataset, write(tmp_path / "ter.jsonl", caption_rows(2, 7)), "ter", better="lower")
    found = evaluate_study(study=study.study, metrics=["ter"])
    assert found["metrics"]["ter"]["accuracy"]["all"]["value"] == 1
    assert set(MetricScore.objects.values_list("first", "second")) == {(-2, -7)}
    assert parse(found["signatures"]["ter"]).fields["better"] == "lower"


def test_preferences_of_pairs_count_in_either_order(tmp_path: Path) -> None:
    study = pairs_study()
    rows = [
        {"image": image, "first": f"good {image}", "second": f"poor {image}", "score": 3} for image in IMAGES
    ]
    rows[0] = {"image": "a.jpg", "first": "poor a.jpg", "second": "good a.jpg", "score": -3}
    brought(study.dataset, write(tmp_path / "judge.jsonl", rows), "judge")
    found = evaluate_study(study=study.study, metrics=["judge"])
    assert found["metrics"]["judge"]["accuracy"]["all"]["value"] == 1
    assert set(MetricScore.objects.values_list("first", "second")) == {(1.5, -1.5)}


def test_preferences_in_both_orders_count_by_their_mean(tmp_path: Path) -> None:
    """A judge that is asked both ways round, and prefers what stands first."""
    study = pairs_study()
    rows = [
        {"image": image, "first": f"{one} {image}", "second": f"{two} {image}", "score": score}
        for image in IMAGES
        for one, two, score in (("good", "poor", 3), ("poor", "good", 1))
    ]
    brought(study.dataset, write(tmp_path / "judge.jsonl", rows), "judge")
    evaluate_study(study=study.study, metrics=["judge"])
    assert set(MetricScore.objects.values_list("first", "second")) == {(0.5, -0.5)}


def test_scores_of_stripped_texts_are_those_of_the_texts_with_blanks(tmp_path: Path) -> None:
    study = pairs_study("blanks", " good {} ", "poor {} ")  # blanks at the ends of texts
    brought(study.dataset, write(tmp_path / "comet.jsonl", caption_rows(0.9, 0.1)), "comet")
    rows = [
        {"image": image, "first": f"poor {image}", "second": f"good {image}", "score": -3} for image in IMAGES
    ]
    brought(study.dataset, write(tmp_path / "judge.jsonl", rows), "judge")
    evaluate_study(study=study.study, metrics=["comet", "judge"])
    scores = MetricScore.objects.values_list("metric", "first", "second")
    assert set(scores) == {("comet", 0.9, 0.1), ("judge", 1.5, -1.5)}


def test_one_text_has_one_score_however_it_is_written(tmp_path: Path) -> None:
    study = pairs_study("blanks", " good {} ", "poor {} ")  # blanks at the ends of texts
    rows = [*caption_rows(0.9, 0.1), {"image": "a.jpg", "caption": " good a.jpg ", "score": 0.5}]
    path = write(tmp_path / "comet.jsonl", rows)
    with refuses(ImportProblem, len(rows), line=17):
        brought(study.dataset, path, "comet")
    assert not ImportedMetric.objects.exists()


def graded_study() -> tuple[StudyOf, dict[str, float]]:
    """Captions of four systems on eight images; people's grade rises with the system and the image."""
    study = StudyOf(make_dataset("graded", IMAGES), "graded")
    people: dict[str, float] = {}
    units, answers = [], []
    for number in range(4):
        system = System.objects.create(dataset=study.dataset, name=f"s{number}")
        for place, image in enumerate(IMAGES):
            text = f"dog {number} at {image}"
            item = Item.objects.get(dataset=study.dataset, name=image)
            Output.objects.create(system=system, item=item, caption=candidate(study.dataset, text))
            units.append(study.unit(f"{number}-{image}", image, first=text))
            answers.append(min(4, 1 + number + (place % 3 == 0)))
            people[text] = answers[-1]
    study.answer(study.hit("h1", units, required=1), "alma", answers)
    return study, people


def test_results_are_older_than_scores_that_replace_theirs(tmp_path: Path, client: Client) -> None:
    study = pairs_study()
    client.force_login(User.objects.create_superuser("root", password="a long phrase of words"))

    def old() -> bool:
        page = client.get(f"/admin/judgments/study/{study.study.pk}/results/")
        assert page.context_data is not None
        return bool(page.context_data["evaluation_is_outdated"])

    for scores, replaces in (((1, 0), False), ((1, 2), True)):
        path = write(tmp_path / "comet.jsonl", caption_rows(*scores))
        brought(study.dataset, path, "comet", replace=replaces)
        assert not replaces or old()
        aggregate_study(study=study.study)
        evaluate_study(study=study.study, metrics=["comet"])
        assert not old()


def test_a_package_s_metric_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, other = pairs_study(), pairs_study("other")
    path = write(tmp_path / "trigrams.jsonl", caption_rows(1, 0))
    brought(other.dataset, path, "trigrams")  # before the package was there
    (tmp_path / "trigram_metric.py").write_text(MODULE)
    install(tmp_path, "quorum-trigrams", "0.2", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "trigram_metric", raising=False)
    with refuses(DataConflict, "trigrams"):
        brought(study.dataset, path, "trigrams")
    found = evaluate_study(study=study.study, metrics=["trigrams"])
    assert "package:quorum-trigrams-0.2" in found["signatures"]["trigrams"]
    assert "trigrams" in dict(metric_choices(study.study))
    # Of two packages with one name a form offers neither, and the built-in metrics as ever.
    install(tmp_path, "quorum-grams", "1.0", "[quorum.metrics]\ntrigrams = trigram_metric:metric\n")
    offered = dict(metric_choices(study.study))
    assert "trigrams" not in offered
    assert "bleu-1" in offered


def test_bad_rows_are_refused_in_a_sentence_and_nothing_is_kept(tmp_path: Path) -> None:
    study = pairs_study()
    System.objects.create(dataset=study.dataset, name="s1")
    good = {"image": "a.jpg", "caption": "good a.jpg", "score": 1}
    cases: list[tuple[list[dict[str, Any]], str]] = [
        (
            [good, good | {"image": "z.jpg"}],
            r'line 2.*image.*"z\.jpg".*toy',
        ),
        ([good | {"caption": "other"}], 'line 1.*caption.*"other"'),
        ([good, good], "line 2"),
        ([good | {"score": "high"}], 'line 1.*score.*"high"'),
        (
            [good | {"score": 10**400}],
            r"line 1.*score.*1e\+100",
        ),
        ([good | {"score": True}], "line 1.*score.*true"),
        ([{"image": "a.jpg", "score": 1}], "line 1.*the columns image"),
        ([{"caption": "x", "image": "a.jpg"}], "line 1.*no column 'score'.*comet"),
        ([{"system": "s9", "score": 1}], 'line 1.*system.*"s9"'),
        (
            [{"image": "a.jpg", "system": "s1", "score": 1}],
            r"\bs1\b.*a\.jpg",
        ),
        (
            [{"image": "a.jpg", "first": "no", "second": "poor a.jpg", "score": 1}],
            'first.*"no"',
        ),
        (
            [{"image": "a.jpg", "first": "good a.jpg", "second": "no", "score": 1}],
            'second.*"no"',
        ),
        (
            [{"image": "q", "first": "good a.jpg", "second": "poor a.jpg", "score": 1}],
            r'image: found "q", expected',
        ),
        ([good | {"score": None}], r"comet\.jsonl"),
        ([], "no rows"),
    ]
    for rows, words in cases:
        with pytest.raises(QuorumError, match=words):
            brought(study.dataset, write(tmp_path / "comet.jsonl", rows), "comet")
    path = write(tmp_path / "comet.jsonl", caption_rows(1, 0))
    for name, error, words in (
        ("CIDEr", DataConflict, "CIDEr"),
        ("a|b", EvaluationError, r"a\|b"),
    ):
        with pytest.raises(error, match=words):
            brought(study.dataset, path, name)
    csv_path = tmp_path / "scores.csv"
    csv_path.write_text("image;caption;comet\na.jpg;good a.jpg;inf\n")
    with refuses(ImportProblem, "1e+100", line=2, column="comet", actual="inf"):
        brought(study.dataset, csv_path, "comet")
    assert not ImportedMetric.objects.exists()
    assert not ScoreKeys.objects.exists()
    # A row about nothing that the dataset has is left out where that is asked for.
    rows = [*caption_rows(1, 0), {"image": "z.jpg", "caption": "good a.jpg", "score": 1}]
    done = brought(study.dataset, write(path, rows), "comet", unknown="leave-out")
    assert (done.skipped_row_count, done.metrics[0].known) == (1, 16)
    assert "in the dataset, left out: 1." in done.summary()


def test_the_same_scores_change_nothing_and_others_must_be_asked_for(tmp_path: Path) -> None:
    study = pairs_study()
    path = write(tmp_path / "comet.jsonl", caption_rows(1, 0))
    first = brought(study.dataset, path, "comet").metrics[0]
    assert brought(study.dataset, path, "comet").unchanged_metrics == ("comet",)
    # Neither the order of rows nor another format changes the hash.
    with (tmp_path / "comet.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["image", "caption", "score"])
        writer.writeheader()
        writer.writerows(reversed(caption_rows(1, 0)))
    assert brought(study.dataset, tmp_path / "comet.csv", "comet").unchanged_metrics == ("comet",)
    evaluate_study(study=study.study, metrics=["comet"])
    write(path, caption_rows(1, 2))
    with refuses(DataConflict, "comet"):
        brought(study.dataset, path, "comet")
    second = brought(study.dataset, path, "comet", replace=True).metrics[0]
    assert second.sha256 != first.sha256
    assert ImportedMetric.objects.get() == second
    again = evaluate_study(study=study.study, metrics=["comet"])
    assert again["metrics"]["comet"]["accuracy"]["all"]["value"] == 0
    assert study.study.analyses.count() == 2
    # Of one caption without a score nothing is said.
    write(path, caption_rows(1, 2)[1:])
    brought(study.dataset, path, "comet", replace=True)
    with refuses(EvaluationError, "1", "16", "good a.jpg"):
        evaluate_study(study=study.study, metrics=["comet"])


def scores_of(people: dict[str, float], change: float) -> str:
    """Return a file of mt-metrics-eval: people's grades of the captions of ``graded_study``, changed."""
    by_system = {
        f"s{number}": [people[f"dog {number} at {image}"] for image in IMAGES] for number in range(4)
    }
    return "".join(
        f"{system}\t{value + change * ((place * 7 + number * 3) % 5)}\n"
        for number, (system, values) in enumerate((by_system | {"refA": [9] * 8}).items())
        for place, value in enumerate(values)
    )


def test_mt_metrics_eval_s_files_are_read(tmp_path: Path) -> None:
    study, people = graded_study()
    folder = tmp_path / "metric-scores"
    folder.mkdir()

    (folder / "near.seg.score").write_text(scores_of(people, 0.1))
    (folder / "far.seg.score").write_text(scores_of(people, 3))
    (folder / "far.sys.score").write_text("s0\t1.5\ns1\tNone\nrefA\t9\n")
    (folder / "notes.txt").write_text("not a score\n")
    with refuses(ImportProblem, "far.seg.score", line=33, column="system", actual='"refA"'):
        store_metric_scores(dataset=study.dataset, files=read_scores(folder, []))
    done = store_metric_scores(dataset=study.dataset, files=read_scores(folder, []), unknown="leave-out")
    assert [(one.name, one.per, one.known) for one in done.metrics] == [
        ("far", "captions", 32),
        ("far", "systems", 1),
        ("near", "captions", 32),
    ]
    short = tmp_path / "short.seg.score"
    short.write_text("s0\t1\ns0\t2\n")
    with refuses(EvaluationError, "2 lines", "graded", "8 items"):
        store_metric_scores(dataset=study.dataset, files=read_scores(short, []))
    short.write_text("s0 1\n")
    with refuses(ImportProblem, line=1, actual='"s0 1"'):
        read_scores(short, [])
    short.write_text("s0\thigh\n")
    with refuses(ImportProblem, line=1, actual='"high"'):
        read_scores(short, [])


@pytest.mark.usefixtures("undrawn")
def test_a_release_has_the_scores_and_holds(tmp_path: Path) -> None:
    study = pairs_study()
    brought(study.dataset, write(tmp_path / "ter.jsonl", caption_rows(2, 7)), "ter", better="lower")
    aggregate_study(study=study.study)
    evaluate_study(study=study.study, metrics=["bleu-1", "ter"])
    bundle = tmp_path / "toy.zip"
    call_command("release", study.study.slug, licence="CC-BY-4.0", output=bundle)
    scores = [row for row in lines(contents(bundle)["scores.jsonl"]) if row["metric"] == "ter"]
    assert {(row["first"], row["second"]) for row in scores} == {(-2, -7)}
    assert verify_bundle(bundle).differences == ()


def test_commands_calls_and_the_page_import(
    tmp_path: Path, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    study = pairs_study()
    path = write(tmp_path / "comet.jsonl", caption_rows(1, 0))
    call_command("import_scores", path, dataset="toy", metric="comet")
    said = capsys.readouterr().out
    assert "comet, scores of captions: 16 (better scores are higher)." in said

    root = User.objects.create_superuser("root", password="a long phrase of words")
    client.force_login(root)
    address = "/api/datasets/toy/scores/"
    rows = caption_rows(0.2, 0.9)
    sent = {"metric": ["clip"], "rows": rows, "better": "lower"}
    answer = client.post(address, sent, content_type="application/json")
    assert answer.status_code == 201, answer.content
    assert [(one["name"], one["better"], one["known"]) for one in answer.json()] == [
        ("clip", "lower", 16),
        ("comet", "higher", 16),
    ]
    refused = client.post(
        address, sent | {"rows": [rows[0] | {"image": "z"}]}, content_type="application/json"
    )
    assert refused.status_code == 400
    assert_names(refused.json()["detail"], "[0].image", "z")
    stranger = User.objects.create_user("stranger", is_staff=True)
    stranger.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client.force_login(stranger)
    assert client.post(address, sent, content_type="application/json").status_code == 409

    client.force_login(root)
    page = f"/admin/judgments/study/{study.study.pk}/metrics/"
    upload = SimpleUploadedFile("judge.csv", b"image,caption,score\na.jpg,good a.jpg,5\n")
    step = f"/admin/judgments/study/{study.study.pk}/do/"
    posted = {"page": "metrics", "metric": "judge", "better": "higher", "file": upload}
    assert (
        "judge, scores of captions: 1"
        in client.post(f"{step}import-scores/", posted, follow=True).content.decode()
    )
    upload = SimpleUploadedFile("\u4e2d" * 90 + ".csv", b"image,caption,score\na.jpg,good a.jpg,5\n")
    refused = client.post(f"{step}import-scores/", posted | {"file": upload}, follow=True)
    assert "Please rename" in refused.content.decode()
    upload = SimpleUploadedFile("judge.csv", b"image,caption,score\nz.jpg,good a.jpg,5\n")
    shown = client.post(f"{step}import-scores/", posted | {"file": upload}, follow=True).content.decode()
    assert "judge.csv, line 2, image" in shown
    assert "clip" in client.get(page).content.decode()
