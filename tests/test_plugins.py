"""The example packages are installed beside Quorum, and what they add is used."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installations import ROOT, Installation, Installations
from tests.refusals import assert_names

PLUGINS = sorted((ROOT / "docs" / "examples" / "plugins").glob("*/pyproject.toml"))
MAX_LINES = 120
OFFENCE = """
name = "Offence"
slug = "offence"
dataset = "demo"
protocol = "offence"
judgments_per_unit = 1
units_per_hit = 10

[controls]
per_hit = 0

[access]
join = "open"

[crowd]
backend = "laboratory"
reward_cents = {reward}
"""
# A study of the package's kind in the package's crowd, from the study file to the verdict.
COLLECT = """
import io, json, sys
from pathlib import Path
import django
django.setup()
from django.core.management import call_command
from django.test import Client
from tests.annotation.calling import accept, answers_to, join, submit
from judgments.models import Study

said = io.StringIO()
call_command("load_demo", stdout=said)
call_command("create_study", sys.argv[1], stdout=said)
call_command("generate_hits", "offence", stdout=said)
call_command("open_study", "offence", stdout=said)
study = Study.objects.get(slug="offence")
token = join(study).json()["token"]
headers, pages = {"Authorization": f"Token {token}"}, []
browser = Client()
browser.cookies["quorum_worker"] = token
while (reply := accept(study, headers)).status_code == 201:
    shown = reply.json()
    pages.append(browser.get("/s/offence/work/").content.decode())
    submit(shown["id"], answers_to(shown, 0), headers)
call_command("aggregate", "offence", stdout=said)
call_command("export_judgments", "offence", format="csv", output=Path(sys.argv[2]), stdout=said)
call_command("export_judgments", "demo-triplet-simulated", format="preferences", output=Path(sys.argv[3]), stdout=said)
print(json.dumps({"said": said.getvalue(), "pages": pages}))
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    pip += ["--no-deps", "--no-build-isolation", "--target", str(folder)]
    subprocess.run([*pip, *(str(file.parent) for file in PLUGINS)], check=True)
    return folder


@pytest.fixture
def installation(packages: Path, installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite") as installation:
        installation.env |= {"PYTHONPATH": str(packages), "ALLOWED_HOSTS": "testserver"}
        yield installation


def test_an_example_package_is_short() -> None:
    assert len(PLUGINS) == 4
    for plugin in PLUGINS:
        files = [path for path in plugin.parent.rglob("*") if path.suffix in {".py", ".toml", ".html"}]
        assert sum(len(path.read_text().splitlines()) for path in files) < MAX_LINES


@pytest.mark.long
def test_a_kind_a_crowd_and_a_format_of_packages_go_from_the_study_file_to_files(
    installation: Installation, tmp_path: Path
) -> None:
    installation.collect_static()
    study, judgments, pairs = tmp_path / "offence.toml", tmp_path / "judgments.csv", tmp_path / "pairs.jsonl"
    study.write_text(OFFENCE.format(reward=0))
    done = installation.run_new("-c", COLLECT, str(study), str(judgments), str(pairs))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert len(answer["pages"]) == 15
    assert all("Does this caption hurt somebody?" in page for page in answer["pages"])
    assert "computer of the laboratory" in answer["said"]
    assert len(judgments.read_text().splitlines()) == 1 + 145
    lines = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert all(line["chosen"] != line["rejected"] and line["share"] > 0.5 for line in lines)
    assert len(lines) > 20


@pytest.mark.long
def test_a_detector_of_a_package_finds_who_uses_the_ends_alone(
    installation: Installation, tmp_path: Path
) -> None:
    rows = ["unit,image,first_text,worker,value"]
    for item in range(25):
        for person in range(4):
            rows.append(f"{item},{item}.jpg,a text about {item},careful-{person},{20 + 2 * item + person}")
        rows.append(f"{item},{item}.jpg,a text about {item},hasty,{100 * (item % 2)}")
    table, data, findings = tmp_path / "judgments.csv", tmp_path / "data.jsonl", tmp_path / "findings.json"
    table.write_text("\n".join(rows))
    data.write_text(
        "\n".join(
            json.dumps({"image": f"{item}.jpg", "caption": f"a text about {item}"}) for item in range(25)
        )
    )
    for line in (
        ["dataset", "import", "jsonl", str(data), "--name", "texts"],
        [
            "study",
            "import",
            "csv",
            str(table),
            "--dataset",
            "texts",
            "--study",
            "ends",
            "--protocol",
            "slider",
        ],
        ["study", "detect", "ends", "--rules", "extremes", "--output", str(findings)],
    ):
        done = installation.run_new("-m", "quorum", *line)
        assert done.returncode == 0, done.stderr
    [rule] = json.loads(findings.read_text())["rules"]
    assert [finding["worker"] for finding in rule["found"]] == ["hasty"]
    assert "All 25 answers are at an end of the scale" in rule["found"][0]["words"]


@pytest.mark.long
def test_a_study_whose_crowd_is_left_out_is_exported_and_not_opened(
    installation: Installation, tmp_path: Path
) -> None:
    study, judgments = tmp_path / "offence.toml", [tmp_path / "on.csv", tmp_path / "off.csv"]
    study.write_text(OFFENCE.format(reward=0))
    installation.collect_static()
    done = installation.run_new("-c", COLLECT, str(study), str(judgments[0]), str(tmp_path / "pairs.jsonl"))
    assert done.returncode == 0, done.stderr
    installation.env["CONTRIB_APPS"] = "quorum_offence"
    done = installation.run_new(
        *("manage.py", "export_judgments", "offence", "--format", "csv", "--output", str(judgments[1]))
    )
    assert done.returncode == 0, done.stderr
    assert judgments[0].read_bytes() == judgments[1].read_bytes()
    done = installation.run_new("manage.py", "open_study", "offence")
    assert done.returncode == 1
    assert_names(done.stderr, "laboratory", "quorum_laboratory", "CONTRIB_APPS")
    done = installation.run_new("manage.py", "create_study", str(study))
    assert "crowd.backend needs the crowd 'laboratory', but this crowd is off" in done.stderr


@pytest.mark.long
def test_a_crowd_of_a_package_refuses_what_it_cannot_do(installation: Installation, tmp_path: Path) -> None:
    study = tmp_path / "offence.toml"
    study.write_text(OFFENCE.format(reward=50))
    for line in (["load_demo"], ["create_study", str(study)], ["generate_hits", "offence"]):
        assert installation.run_new("manage.py", *line).returncode == 0
    done = installation.run_new("manage.py", "open_study", "offence")
    assert done.returncode == 1
    assert "people of a laboratory are paid at the desk; expected 0." in done.stderr


@pytest.mark.long
def test_a_package_is_left_out_by_the_setting(installation: Installation) -> None:
    installation.env["CONTRIB_APPS"] = "quorum_laboratory"
    listed = "from judgments.kinds import KINDS; from judgments.design.crowds import CROWDS"
    code = f"import django; django.setup(); {listed}; print('offence' in KINDS, 'laboratory' in CROWDS)"
    assert installation.run_new("-c", code).stdout.split() == ["False", "True"]
