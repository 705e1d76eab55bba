"""manage.py score, as a person calls it: files in, JSON out, no database."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.metrics.reading import GOLDEN, read_json

SMALL = GOLDEN / "small"
CANDIDATES, REFERENCES = str(SMALL / "candidates-close-coco.json"), str(SMALL / "references.json")


def run(*arguments: str, candidates: str = CANDIDATES) -> tuple[str, str]:
    """What the command prints, and what it says on the side."""
    said, noted = io.StringIO(), io.StringIO()
    call_command(
        "score",
        f"--candidates={candidates}",
        f"--references={REFERENCES}",
        *arguments,
        stdout=said,
        stderr=noted,
    )
    return said.getvalue(), noted.getvalue()


def test_scores_are_written_to_a_file_and_agree_with_the_peers(tmp_path: Path) -> None:
    output = tmp_path / "scores.json"
    said, _ = run(f"--output={output}")
    found = read_json(output)["systems"]["candidates-close-coco"]
    expected = read_json(SMALL / "expected.json")["systems"]["close"]
    assert list(found) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider", "cider-d"]
    assert found["cider-d"]["corpus"] == pytest.approx(expected["cider-d"]["corpus"], abs=1e-12)
    assert found["cider"]["images"] == pytest.approx(expected["cider-published"]["images"], abs=1e-12)
    assert said == f"Written to {output}.\n"


def test_scores_are_printed_where_no_file_is_named() -> None:
    said, _ = run("--metrics=bleu-1, bleu-pre")
    assert list(json.loads(said)["systems"]["candidates-close-coco"]) == ["bleu-1", "bleu-pre"]


def test_missing_images_are_noted_on_the_side(tmp_path: Path) -> None:
    part = tmp_path / "part.json"
    part.write_text(json.dumps(read_json(Path(CANDIDATES))[:10]))
    assert run(candidates=str(part))[1] == "Note: system 'part' has no caption for 30 of 40 images.\n"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--metrics=cidre", "unknown metric 'cidre'; did you mean 'cider'"),
        ("--metrics=,", "metrics is empty, expected at least one name"),
        ("--tokenizer=ptp", "unknown tokenizer 'ptp'; did you mean 'ptb'"),
        ("--candidates=nowhere.json", "nowhere.json: cannot be read, no such file or directory"),
    ],
)
def test_a_mistake_is_answered_in_one_line_and_nothing_is_written(
    tmp_path: Path, argument: str, message: str
) -> None:
    output = tmp_path / "scores.json"
    with pytest.raises(CommandError, match=message) as caught:
        run(f"--output={output}", argument)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
