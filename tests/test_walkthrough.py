"""From a dataset to an export by the commands and calls that people use, against a golden export.

The files in tests/golden/walkthrough/ were written for this test. Three workers answer over HTTP by rules that anyone
can follow with a pencil: two choose the sentence that shares more words with A, one always the left one. So the right
consensus is known without Quorum, and the left-clicker must be set aside by the control items.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from judgments.models import Study

FOLDER = Path(__file__).parent / "golden" / "walkthrough"

pytestmark = pytest.mark.django_db


def words(text: str) -> set[str]:
    return set(text.lower().rstrip(" .").split())


def closer(reference: str, one: str, other: str) -> str:
    """The sentence that shares more words with the reference; among equals the first in the alphabet."""
    return max(sorted((one, other)), key=lambda text: len(words(text) & words(reference)))


def careful(unit: dict[str, Any]) -> int:
    chosen = closer(unit["a"]["text"], unit["b"]["text"], unit["c"]["text"])
    return 1 if chosen == unit["b"]["text"] else 2


def always_left(unit: dict[str, Any]) -> int:
    return 1


def work(slug: str, name: str, answer: Any) -> None:
    """One worker, from joining until nothing is left, with the four calls."""
    client = APIClient()
    joined = client.post(f"/api/studies/{slug}/join/", {"worker": name}, format="json")
    assert joined.status_code == 201
    client.credentials(HTTP_AUTHORIZATION=f"Token {joined.json()['token']}")
    held = client.post(f"/api/studies/{slug}/assignments/").json()
    while held is not None:
        answers = [
            {"position": unit["position"], "value": answer(unit), "seconds": 2.5} for unit in held["units"]
        ]
        address = f"/api/assignments/{held['id']}/"
        assert client.patch(address, {"answers": answers[:2]}, format="json").status_code == 200
        sent = client.post(f"{address}submit/", {"answers": answers[2:], "next": True}, format="json")
        assert sent.status_code == 200
        held = sent.json()["next"]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def written(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False, sort_keys=True)}\n" for row in rows)


def without_chance(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a run decides by the clock or by chance, replaced by what must hold of it."""
    for row in rows:
        assert row.pop("accepted_at") <= row.pop("submitted_at")
        assert len(row.pop("assignment")) == 36
    return sorted(rows, key=lambda row: (row["worker"], row["unit"]))


@pytest.fixture(scope="module")
def hits(module_db: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of HITs of the study that was designed, worked on and closed."""
    generated = tmp_path_factory.mktemp("walkthrough") / "hits.jsonl"
    call_command("import_dataset", "jsonl", str(FOLDER / "dataset.jsonl"), "--name", "scenes")
    for system in ("careful", "careless"):
        call_command(
            "import_candidates", "jsonl", str(FOLDER / f"{system}.jsonl"), "--dataset", "scenes", "--system", system
        )  # fmt: skip
    call_command("create_study", str(FOLDER / "study.toml"))
    call_command("generate_hits", "walkthrough", "--output", str(generated))
    call_command("open_study", "walkthrough")
    work("walkthrough", "alma", careful)
    work("walkthrough", "bela", careful)
    work("walkthrough", "clara", always_left)
    call_command("close_study", "walkthrough")
    return generated


@pytest.fixture
def finished(hits: Path) -> Study:
    return Study.objects.get(slug="walkthrough")


def exported(study: str, path: Path, form: str = "jsonl") -> Path:
    call_command("export_judgments", study, "--format", form, "--output", str(path))
    return path


def test_the_generated_hits_are_the_golden_ones(hits: Path) -> None:
    assert hits.read_bytes() == (FOLDER / "hits.jsonl").read_bytes()


def test_the_export_is_the_golden_one(finished: Study, tmp_path: Path) -> None:
    rows = without_chance(lines(exported("walkthrough", tmp_path / "judgments.jsonl")))
    assert written(rows) == (FOLDER / "judgments.jsonl").read_text(encoding="utf-8")


def test_every_judgment_is_what_its_worker_s_rule_says(finished: Study, tmp_path: Path) -> None:
    rows = lines(exported("walkthrough", tmp_path / "judgments.jsonl"))
    units = {row["unit"] for row in rows}
    assert len(rows) == 3 * len(units)
    for row in rows:
        left_first = row["presented"] == "first-left"
        if row["worker"] == "clara":
            assert row["value"] == (1 if left_first else 2)
        else:
            chosen = closer(row["reference_text"], row["first_text"], row["second_text"])
            assert row["value"] == (1 if chosen == row["first_text"] else 2)
        assert row["seconds"] == 2.5
        assert row["simulated"] is False


def test_the_left_clicker_is_set_aside_and_the_others_decide(finished: Study, tmp_path: Path) -> None:
    rows = lines(exported("walkthrough", tmp_path / "judgments.jsonl"))
    used = {row["worker"]: row["used"] for row in rows}
    right: dict[str, list[bool]] = {"alma": [], "bela": [], "clara": []}
    for row in rows:
        if row["control"]:
            right[row["worker"]].append(row["value"] == row["expected"])
    for name, answers in right.items():
        assert used[name] == (sum(answers) / len(answers) >= 0.7)
    assert used == {"alma": True, "bela": True, "clara": False}

    call_command("aggregate", "walkthrough", "--output", str(tmp_path / "consensus.json"))
    found = json.loads((tmp_path / "consensus.json").read_text())
    texts = {row["unit"]: row for row in rows}
    for unit in found["units"]:
        row = texts[unit["unit"]]
        winner = closer(row["reference_text"], row["first_text"], row["second_text"])
        assert unit["n"] == 2
        assert unit["share"] == 1
        assert unit["value"] == (1 if winner == row["first_text"] else 2)
    for pair in found["pairs"]:
        values = [unit["value"] for unit in found["units"] if unit["pair"] == pair["pair"]]
        assert (pair["wins"], pair["losses"]) == (values.count(1), values.count(2))
        assert pair["value"] == (1 if values.count(1) > values.count(2) else 2)
    assert found["agreement"]["alpha"]["value"] == 1


def test_metrics_are_held_against_the_consensus(finished: Study, tmp_path: Path) -> None:
    output = tmp_path / "metrics.json"
    call_command("aggregate", "walkthrough")
    call_command("evaluate", "walkthrough", "--metrics", "bleu-1,cider", "--output", str(output))
    found = json.loads(output.read_text())
    for metric in ("bleu-1", "cider"):
        accuracy = found["metrics"][metric]["accuracy"]
        assert {kind: accuracy[kind]["n"] for kind in ("HC", "HI", "HM", "MM")} == dict.fromkeys(
            ("HC", "HI", "HM", "MM"), 3
        )
        # of two machine captions, one shares nearly every word with the references and one hardly any
        assert accuracy["MM"]["value"] == 1
        assert accuracy["MM"]["low"] < 1 <= accuracy["MM"]["high"]
        assert found["signatures"][metric].startswith(f"{metric}|")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_is_exported_imports_again_to_the_same_consensus(
    finished: Study, tmp_path: Path, form: str
) -> None:
    path = exported("walkthrough", tmp_path / f"judgments.{form}", form)
    call_command("import_judgments", form, str(path), "--dataset", "scenes", "--study", "again")
    found = []
    for study in ("walkthrough", "again"):
        output = tmp_path / f"{study}.json"
        call_command("aggregate", study, "--output", str(output))
        result = json.loads(output.read_text())
        found.append(
            (
                sorted(json.dumps(unit, sort_keys=True) for unit in result["units"]),
                sorted(json.dumps(pair, sort_keys=True) for pair in result["pairs"]),
                result["agreement"]["alpha"]["value"],
                [
                    (row["worker"], row["controls_seen"], row["controls_right"], row["used"])
                    for row in result["workers"]
                ],
            )
        )
    assert found[0] == found[1]


def test_a_judgments_file_alone_brings_the_systems_into_another_dataset(
    finished: Study, tmp_path: Path
) -> None:
    path = exported("walkthrough", tmp_path / "judgments.jsonl")
    call_command("import_dataset", "jsonl", str(FOLDER / "dataset.jsonl"), "--name", "elsewhere")
    call_command("import_judgments", "jsonl", str(path), "--dataset", "elsewhere", "--study", "again")
    found = []
    for study in ("walkthrough", "again"):
        output = tmp_path / f"{study}.json"
        call_command("aggregate", study, "--output", str(output))
        found.append(json.loads(output.read_text())["systems"])
    assert found[0] == found[1]
    assert [row["system"] for row in found[1]] == ["careful", "careless", "people"]
    careful = next(row for row in found[1] if row["system"] == "careful")
    assert careful["wins"] > careful["losses"]


def test_the_manifest_says_how_the_export_was_made(finished: Study, tmp_path: Path) -> None:
    path = exported("walkthrough", tmp_path / "judgments.jsonl")
    manifest = json.loads(Path(f"{path}.manifest.json").read_text())
    assert manifest["counts"]["judgments"] == len(lines(path))
    assert manifest["design"]["seed"] == 2015
    assert hashlib.sha256(path.read_bytes()).hexdigest() in json.dumps(manifest)
