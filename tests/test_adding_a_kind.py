"""An eleventh kind, made of docs/adding-a-kind.md and nothing else, through the whole life of a study."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client, override_settings

from common.errors import DesignError
from judgments.kinds import KINDS
from judgments.models import Study
from tests.judgments.material import batch_of, made_up
from tests.plots import undrawn
from tests.refusals import refuses
from tests.test_walkthrough import FOLDER, exported, lines

PAGE = Path("docs/adding-a-kind.md")
DESIGN = """
name = "Hurting captions"
dataset = "scenes"
protocol = "offence"
seed = 7
judgments_per_unit = 3
units_per_hit = 10
"""
HURTS = "sand"  # two workers find that captions with this word hurt somebody, one never does

pytestmark = pytest.mark.django_db


def block(language: str) -> str:
    """The page's first block of code in a language."""
    return PAGE.read_text(encoding="utf-8").partition(f"```{language}\n")[2].partition("```")[0]


@pytest.fixture(scope="module")
def kind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("kind")
    (folder / "offence.py").write_text(block("python"), encoding="utf-8")
    (folder / "annotation/kinds").mkdir(parents=True)
    (folder / "annotation/kinds/offence.html").write_text(block("html"), encoding="utf-8")
    templates: dict[str, Any] = dict(settings.TEMPLATES[0])
    templates["DIRS"] = [*templates["DIRS"], folder]
    with pytest.MonkeyPatch.context() as patch, override_settings(TEMPLATES=[templates]):
        patch.syspath_prepend(str(folder))
        patch.setitem(KINDS, "offence", import_module("offence").Offence())
        yield


def work(name: str, finds_offence: bool) -> int:
    """Answer by the page's form until nothing is left; how many captions were judged."""
    client, judged = Client(), 0
    client.post("/s/hurting/", {"name": name, "consent": "on"})
    response = client.get("/s/hurting/work/")
    while "data-assignment" in (page := response.content.decode()):
        assert "Does this caption hurt somebody?" in page
        answers = {}
        for step in page.split("<section")[1:]:
            position = re.search(r'id="u(\d+)"', step)
            sentence = re.search(r'<bdi class="said"[^>]*>([^<]+)</bdi>', step)
            if position is not None and sentence is not None:
                answers[f"u{position[1]}"] = str(int(finds_offence and HURTS in sentence[1]))
        assignment = re.search(r'data-assignment="([\w-]+)"', page)
        assert assignment is not None
        response = client.post(f"/s/hurting/work/{assignment[1]}/submit/", answers, follow=True)
        assert response.status_code == 200
        judged += len(answers)
    return judged


@pytest.fixture(scope="module")
def finished(module_db: None, kind: None, tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(f'slug = "hurting"\n{DESIGN}', encoding="utf-8")
    call_command("import_dataset", "jsonl", str(FOLDER / "dataset.jsonl"), "--name", "scenes")
    call_command("create_study", str(folder / "study.toml"))
    call_command("generate_hits", "hurting", "--output", str(folder / "hits.jsonl"))
    assert sum(len(hit["units"]) for hit in lines(folder / "hits.jsonl")) == 35
    call_command("open_study", "hurting")
    assert [work("alma", True), work("bela", True), work("clara", False)] == [35, 35, 35]
    call_command("close_study", "hurting")
    return Study.objects.get(slug="hurting")


def aggregated(study: str, folder: Path) -> dict[str, Any]:
    output = folder / f"{study}.json"
    call_command("aggregate", study, "--output", str(output))
    result: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return result


def test_controls_that_it_cannot_make_are_refused(kind: None) -> None:
    with pytest.raises(DesignError, match="'reference'"):
        batch_of(made_up(), "offence", controls={"per_hit": 1})


def test_its_answers_are_exported_and_decided(finished: Study, tmp_path: Path) -> None:
    rows = lines(exported("hurting", tmp_path / "judgments.jsonl"))
    assert len(rows) == 105
    for row in rows:
        assert row["protocol"] == "offence"
        assert row["value"] == int(row["worker"] != "clara" and HURTS in row["first_text"])
    hurting = {row["unit"] for row in rows if HURTS in row["first_text"]}
    assert hurting
    result = aggregated("hurting", tmp_path)
    assert {unit["unit"]: unit["value"] for unit in result["units"]} == {
        row["unit"]: int(row["unit"] in hurting) for row in rows
    }


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_its_published_judgments_are_read_back(finished: Study, tmp_path: Path, form: str) -> None:
    path = exported("hurting", tmp_path / f"judgments.{form}", form)
    call_command("import_judgments", form, str(path), "--dataset", "scenes", "--study", "again")
    first, again = aggregated("hurting", tmp_path), aggregated("again", tmp_path)
    assert again["units"] == first["units"]
    assert again["agreement"]["alpha"]["value"] == first["agreement"]["alpha"]["value"]


def test_a_value_that_it_does_not_have_is_refused_in_a_table(finished: Study, tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("unit,worker,protocol,value\nu,w,offence,2\n", encoding="utf-8")
    with refuses(CommandError, "value", "2", "0", "1"):
        call_command("import_judgments", "csv", str(path), "--dataset", "scenes", "--study", "wrong")


def test_people_agree_in_its_file_as_in_the_study(finished: Study, tmp_path: Path) -> None:
    path, output = exported("hurting", tmp_path / "judgments.jsonl"), tmp_path / "alpha.json"
    call_command("agreement", str(path), "--output", str(output))
    alpha = aggregated("hurting", tmp_path)["agreement"]["alpha"]["value"]
    assert 0 < alpha < 1
    assert json.loads(output.read_text(encoding="utf-8"))["alpha"]["value"] == pytest.approx(alpha)


def test_it_has_a_report(finished: Study, tmp_path: Path) -> None:
    call_command("aggregate", "hurting")
    with undrawn("pdf", "png"):
        call_command("report", "hurting", "--output", str(tmp_path / "report"))
    (page,) = (tmp_path / "report").glob("*.html")
    text = page.read_text(encoding="utf-8")
    assert "Hurting captions" in text
    assert "offence" in text


def test_people_who_design_studies_can_choose_it(finished: Study, designer: Client) -> None:
    start = "/admin/judgments/study/add/"
    assert "?protocol=offence" in designer.get(start).content.decode()
    form = designer.get(f"{start}?protocol=offence&dataset=scenes").content.decode()
    assert "Offence: does the caption hurt somebody?" in form
    assert "Does this caption hurt somebody?" in form
    for page in ("change", "hits", "results", "exports"):
        assert designer.get(f"/admin/judgments/study/{finished.pk}/{page}/").status_code == 200
