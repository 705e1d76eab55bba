"""The packs of MQM and ESA on made-up files of the published layouts, and the same files through the commands."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Judgment
from evaluation.reports.replication.packs import pack_named
from evaluation.reports.replication.running import run_pack
from evaluation.results.error_spans.scores import rank_systems, segments_of, system_scores
from judgments.models import Item, Study
from tests.evaluation.test_credits_and_weights import SCORES

WEIGHTS = '[[spans.weights]]\ncategory = "source issue"\nweights = { minor = 1, major = 5 }\n'
MQM = """\
system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity
SMU\ttalk.2\t1\t84\trater3\t这是 "光"\tThis is <v>"lights"</v>.\tAccuracy/Mistranslation\tMajor
SMU\ttalk.2\t1\t84\trater3\t这是 "光"\tThis is "lights"<v>.</v>\tFluency/Punctuation\tMinor
MiSS\ttalk.2\t1\t84\trater3\t<v>这是</v> "光"\tThis is "lights".\tSource error\tMajor
MiSS\ttalk.2\t1\t85\trater3\t完\tDone.\tNo-error\tNo-error
SMU\ttalk.2\t1\t85\trater3\t完\tDone<v></v>.\tAccuracy/Omission\tMinor
"""


@pytest.fixture
def ted(tmp_path: Path) -> Path:
    folder = tmp_path / "wmt-mqm-human-evaluation" / "ted" / "zhen"
    folder.mkdir(parents=True)
    (folder / "mqm_ted_zhen.tsv").write_text(MQM, encoding="utf-8")
    return folder / "mqm_ted_zhen.tsv"


def numbers(name: str, folder: Path) -> dict[str, Any]:
    verdicts = run_pack(pack_named(name), folder, lambda share, message: None).verdicts
    return {verdict.number.id: verdict.ours.value for verdict in verdicts if verdict.ours.value is not None}


def test_a_segment_loses_the_weights_of_its_errors_and_those_of_the_source(ted: Path, tmp_path: Path) -> None:
    assert numbers("mqm-ted", tmp_path) == pytest.approx(
        {"readme/SMU": 3.05, "readme/MiSS": 2.5, "mean/SMU": 3.05, "mean/MiSS": 2.5}
    )


@pytest.mark.django_db
def test_commands_read_the_same_file_and_say_the_same(ted: Path, tmp_path: Path) -> None:
    (tmp_path / "design.toml").write_text(WEIGHTS)
    call_command("import_dataset", "google-mqm", str(ted), name="ted", stdout=StringIO())
    assert list(Item.objects.values_list("name", "text", "fields")) == [
        ("84", '这是 "光"', [["document", "talk.2"]]), ("85", "完", [["document", "talk.2"]]),
    ]  # fmt: skip
    call_command("import_judgments", "google-mqm", str(ted), dataset="ted", study="ted",
                 design=tmp_path / "design.toml", stdout=StringIO())  # fmt: skip
    call_command("error_spans", "ted", output=tmp_path / "scores.json", stdout=StringIO())
    result = json.loads((tmp_path / "scores.json").read_text())
    assert [(row["system"], row["score"]) for row in result["systems"]] == [("MiSS", -2.5), ("SMU", -3.05)]
    assert result["weights"] == {"source issue": {"minor": 1, "major": 5}}


NAMES = {"a": "refA", "b": "GPT-4", "c": "IKUN-C"}


def esa() -> Iterator[str]:
    """Yield each answer with an earlier one, and lines that are no work."""
    yield "engjpn1,ende-tutorial1,1000001,TGT,eng,jpn,0,ende-tutorial1,False,[],1.0,1.0\n"
    for system, scores in SCORES.items():
        for line, score in enumerate(scores):
            document = "test-en-news_bbc.1" if line < 6 else "test-en-speech_x_000"
            start = f"engjpn1,{NAMES[system]},{line},TGT,eng,jpn"
            yield f"{start},{score},{document},False,[],20.5,21.5\n"
            yield f"{start},0,{document},False,[],10.5,11.5\n"
            yield f"{start},0,{document}#dup,False,[],30.5,31.5\n"
            yield f"{start.replace('TGT', 'BAD')},0,{document}#bad,False,[],30.5,31.5\n"


def test_ranks_are_those_of_wmt_s_script_on_the_same_lines(tmp_path: Path) -> None:
    """The values are those of humeval/tools.py of 13 September 2024 (commit 71cc027)."""
    folder = tmp_path / "wmt24-news-systems" / "humeval"
    folder.mkdir(parents=True)
    for wave in range(4):  # the other waves are of another pair
        lines = "".join(line if wave == 2 else line.replace("jpn", "zho") for line in esa())
        (folder / f"esa_generalMT2024_wave{wave}.csv").write_text(lines)
    ours = numbers("wmt24-esa", tmp_path)
    assert {name: value for name, value in ours.items() if name.startswith("en-ja/")} == pytest.approx(
        {"en-ja/refA/score": 84.666667, "en-ja/refA/best": 1, "en-ja/refA/worst": 1,
         "en-ja/GPT-4/score": 72.5, "en-ja/GPT-4/best": 2, "en-ja/GPT-4/worst": 3,
         "en-ja/IKUN-C/score": 66.833333, "en-ja/IKUN-C/best": 2, "en-ja/IKUN-C/worst": 3}
    )  # fmt: skip


@pytest.mark.django_db
def test_the_layout_of_wmt_s_lines_makes_a_dataset_and_a_study(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"langs": "en-ja", "line_id": line, "src": f"line {line}", "tgt": f"{system} {line}", "doc_id": "d",
         "domain": "news" if line < 6 else "speech", "esa_spans": [], "esa_score": str(score), "system": system,
         "annotator": "engjpn1", "times": [f"17241086{at}.0", f"17241086{at}.5"]}
        for system, scores in SCORES.items()
        for line, last in enumerate(scores)
        for score, at in ((last, 20), (0, 10))
    ]  # fmt: skip
    after = {"start_i": 3, "end_i": 4, "severity": "minor"}  # what is missing stands after the text
    rows[0] |= {"esa_spans": [after, {"start_i": 2, "end_i": 3, "severity": "undecided"}]}
    rows[2] |= {"tgt": "", "esa_spans": [{"start_i": "missing", "end_i": "missing", "severity": "major"}]}
    rows[4] |= {"tgt": "abcd", "esa_spans": [{"start_i": 2, "end_i": 4, "severity": "major"}]}
    path = tmp_path / "wmt24_esa.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    call_command("import_dataset", "wmt-esa", str(path), name="esa", stdout=StringIO())
    call_command("import_judgments", "wmt-esa", str(path), dataset="esa", study="esa", stdout=StringIO())
    segments = segments_of(Study.objects.get(slug="esa"))
    answers = Judgment.objects.order_by("pk").values_list("answer__spans", "unit__first__text")[:3]
    assert list(answers) == [
        ([{"start": None, "end": None, "severity": "minor"}], "a 0"),
        ([{"start": None, "end": None, "severity": "major"}], "[No translation supplied]"),
        ([{"start": 2, "end": 4, "severity": "major"}], "abcd"),
    ]
    assert [row.score for row in system_scores(segments)] == pytest.approx([84.6667, 72.5, 66.8333], abs=1e-4)
    ranked = rank_systems(segments)
    assert [(row.system, row.best, row.worst) for row in ranked] == [("a", 1, 1), ("b", 2, 3), ("c", 2, 3)]
    assert ranked[0].domains == pytest.approx({"news": 85.6667, "speech": 83.6667}, abs=1e-4)
