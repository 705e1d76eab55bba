"""A study's own weights of errors, credits of equal texts, and ranks over domains."""

import json
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from contrib.error_spans.results.ranks import rank_systems
from contrib.error_spans.results.scores import system_scores
from contrib.error_spans.results.segments import TextJudgment, score_segments, segments_of
from evaluation.data.export.exporting import export_judgments
from evaluation.results.aggregation import aggregate_study
from judgments.models import Study
from quorum.statistics.significance import stouffer_wilcoxon
from tests.evaluation.reporting import words
from tests.judgments.desk import page

pytestmark = pytest.mark.django_db
MAJOR = {"start": 0, "end": 1, "severity": "major", "category": "style/awkward"}
SOURCE = {"start": None, "end": None, "severity": "minor", "category": "source issue"}
DESIGN = """
language = "en"
source = { show = true, language = "zh" }
[[spans.weights]]
category = "source issue"
weights = { minor = 1, major = 5 }
[[spans.weights]]
weights = { major = 4 }
"""

SCORES = {
    "a": [90, 80, 95, 70, 88, 91, 85, 60, 99, 88, 77, 93],
    "b": [70, 60, 80, 65, 80, 90, 80, 58, 79, 78, 70, 60],
    "c": [71, 75, 60, 66, 80, 50, 62, 50, 78, 80, 71, 59],
}


def judgment(system: str, image: str, spans: list[dict[str, Any]]) -> str:
    credits = {"same": [{"system": system, "rank": 1}]}
    row: dict[str, Any] = {"unit": f"{system}/{image}", "image": image, "worker": "rater1", "first": "same"}
    row |= {"first_text": "One text.", "systems": credits, "answer": {"spans": spans}}
    return f"{json.dumps(row)}\n"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Systems of one text, of which a rater sees more in that of the second."""
    items = [{"image": name, "split": name, "text": "源", "caption": "A text."} for name in ("1", "2")]
    (tmp_path / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    (tmp_path / "design.toml").write_text(DESIGN)
    path = tmp_path / "judgments.jsonl"
    path.write_text(
        judgment("north", "1", [SOURCE])
        + judgment("south", "1", [MAJOR, SOURCE])
        + judgment("north", "2", [])
        + judgment("south", "2", [MAJOR])
    )
    call_command("import_dataset", "jsonl", str(tmp_path / "items.jsonl"), name="ted", stdout=StringIO())
    call_command("import_judgments", "jsonl", str(path), dataset="ted", study="ted", protocol="spans",
                 design=tmp_path / "design.toml", stdout=StringIO())  # fmt: skip
    return Study.objects.get(slug="ted")


def test_a_unit_is_scored_for_the_systems_of_its_row_by_the_weights_of_the_study(study: Study) -> None:
    assert [(row.system, row.score, row.segments) for row in system_scores(segments_of(study))] == [
        ("north", -0.5, 2), ("south", -4.5, 2),
    ]  # fmt: skip
    printed = StringIO()
    call_command("error_spans", "ted", domains=True, stdout=printed)
    assert "south     1–2  -4.50  -5.00  -4.00" in printed.getvalue()
    aggregate_study(study=study)
    values = study.consensus.order_by("value").values_list("value", flat=True)
    assert list(values) == [-5, -4, -1, 0]


def test_the_page_shows_both_sides_and_says_whose_weights_they_are(study: Study, designer: Client) -> None:
    aggregate_study(study=study)
    shown = words(designer.get(page(study, "errors")))
    assert (
        "The error weights of this study differ from those of WMT: source issue Minor 1.0 Major 5.0; Major 4.0."
        in shown
    )
    assert "north minus south: 4.00 (segments: 2)." in shown
    assert "Segments on which north has the better score: 2; the worse score: 0." in shown
    assert "How do systems rank across domains?" in shown
    assert "north · -1.00" in shown
    assert "south · -5.00" in shown


def test_exports_keep_them_apart(study: Study, tmp_path: Path) -> None:
    export_judgments(study=study, format="mtme", output=tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.read("ted/human-scores/zh-en.spans.sys.score") == b"north\t-0.5\nsouth\t-4.5\n"
        errors = archive.read("ted/human-scores/zh-en.spans.rater1.seg.rating").decode().splitlines()
    assert [len(json.loads(line.split("\t")[1])["errors"]) for line in errors] == [1, 0, 2, 1]
    assert json.loads(errors[0].split("\t")[1])["errors"][0]["score"] == 1
    path = tmp_path / "out.jsonl"
    export_judgments(study=study, format="jsonl", output=path)
    call_command(
        "import_judgments", "jsonl", str(path), dataset="ted", study="again", protocol="spans", stdout=StringIO()
    )  # fmt: skip
    again = system_scores(segments_of(Study.objects.get(slug="again")))
    assert [(row.system, row.score) for row in again] == [("north", 0), ("south", -5)]  # the usual weights


def test_a_design_that_is_wrong_stores_nothing(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    for text, sentence in (
        ("[[spans.weights]]\nweights = { terrible = 1 }\n", "spans.weights"),
        (DESIGN + "[[spans.weights]]\nweights = { minor = 2 }\n", r"spans\.weights"),
        ("spans = [", "is not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(CommandError, match=sentence):
            call_command("import_judgments", "jsonl", str(tmp_path / "judgments.jsonl"), dataset="ted",
                         study="wrong", protocol="spans", design=path, stdout=StringIO())  # fmt: skip
    assert not Study.objects.filter(slug="wrong").exists()


def test_ranks_are_those_of_wmt24() -> None:
    """Against get_pvalues and get_ranks of wmt24-news-systems (humeval/tools.py), over the same scores."""
    judged = [
        TextJudgment("w", {"spans": [], "score": score}, "d", "news" if item < 6 else "speech")
        for scores in SCORES.values()
        for item, score in enumerate(scores)
    ]
    texts = {name: {item: [12 * at + item] for item in range(12)} for at, name in enumerate(SCORES)}
    ranked = rank_systems(score_segments(judged, texts))
    assert [(row.system, row.best, row.worst) for row in ranked] == [("a", 1, 1), ("b", 2, 3), ("c", 2, 3)]
    apart = [first - second for first, second in zip(SCORES["b"], SCORES["c"], strict=True)]
    assert stouffer_wilcoxon([apart[:6], apart[6:]]) == pytest.approx(0.6427058345377825)
