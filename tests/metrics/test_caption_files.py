"""Files of captions, and the command that scores them."""

import gzip
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from quorum.metrics import InvalidFile
from quorum.metrics.caption_files import read_candidates, read_references
from quorum.metrics.files import score_files
from tests.metrics.reading import COCO, GOLDEN, read_json
from tests.refusals import refuses

SMALL = GOLDEN / "small"


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_references_read_the_same_in_all_three_formats(tmp_path: Path) -> None:
    expected = {"1": ["a dog", "the dog\nruns"], "2": ["a cat"]}
    rows = [{"image_id": int(image), "caption": text} for image, texts in expected.items() for text in texts]
    coco = {"info": {}, "images": [{"id": 1}], "annotations": rows}
    lines = "\n\n".join(
        json.dumps({"image": str(row["image_id"]), "caption": row["caption"]}) for row in rows
    )
    for name, text in (
        ("coco.json", json.dumps(coco)),
        ("pretty.json", json.dumps(coco, indent=1)),
        ("mapping.json", json.dumps(expected, indent=2)),
        ("lines.jsonl", f"\ufeff{lines}\n"),
    ):
        assert read_references(written(tmp_path, name, text)) == expected, name


def test_candidates_read_the_same_in_all_three_formats(tmp_path: Path) -> None:
    expected = {"mine": {"1": "a dog", "2": "a cat"}}
    for name, text in (
        ("coco", '[{"image_id": 1, "caption": "a dog"},\n {"image_id": 2, "caption": "a cat"}]'),
        ("mapping", '{"1": "a dog",\n "2": "a cat"}'),
        ("lines", '{"image": 1, "caption": "a dog"}\n{"image": "2", "caption": "a cat", "system": "mine"}\n'),
    ):
        (tmp_path / name).mkdir()
        assert read_candidates(written(tmp_path / name, "mine.json", text)) == expected, name
        packed = gzip.compress(text.encode())
        assert read_candidates(written(tmp_path / name, "mine.json.gz", packed)) == expected, name
    with refuses(InvalidFile, "mine.json.gz"):
        read_candidates(written(tmp_path, "mine.json.gz", packed[:-9]))


def test_json_lines_keep_systems_apart(tmp_path: Path) -> None:
    systems = read_candidates(SMALL / "candidates.jsonl")
    assert list(systems) == ["close", "vague", "nasty"]
    assert systems["close"] == read_candidates(SMALL / "candidates-close-coco.json")["candidates-close-coco"]


def test_files_are_scored_as_the_contract_writes_it_down() -> None:
    found = score_files(SMALL / "candidates.jsonl", SMALL / "references.json", metrics=list(COCO))
    expected = read_json(SMALL / "expected.json")["systems"]
    assert (found["tokenizer"], found["version"]) == ("ptb", "1.0")
    assert found["warnings"] == [
        "system 'nasty': 2 empty captions score 0",
        "system 'nasty': tokenizer ptb finds no token in 3 of 40 captions and 0 of 200 references; these match "
        "nothing; use one for their script",
    ]
    for system in expected:
        for metric in COCO:
            assert found["systems"][system][metric]["corpus"] == pytest.approx(
                expected[system][metric]["corpus"], rel=0, abs=1e-12
            )
            assert found["systems"][system][metric]["images"] == pytest.approx(
                expected[system][metric]["images"], rel=0, abs=1e-12
            )
    assert found["signatures"]["vague"]["cider-d"] == "cider-d|n:4|sigma:6|tok:ptb|refs:5|df:corpus|v:1.0"


def test_a_system_that_leaves_images_out_keeps_the_files_document_frequencies(tmp_path: Path) -> None:
    every = read_json(SMALL / "candidates-close-coco.json")
    part = written(tmp_path, "part.json", json.dumps(every[:10]))
    found = score_files(part, SMALL / "references.json", metrics=["cider"])
    whole = read_json(SMALL / "expected.json")["systems"]["close"]["cider-published"]["images"]
    scores = found["systems"]["part"]["cider"]["images"]
    assert scores == pytest.approx({image: whole[image] for image in scores}, rel=0, abs=1e-12)
    assert found["warnings"] == ["system 'part' has no caption for 30 of 40 images"]


def test_a_caption_for_an_image_without_references_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, "c.json", '{"img000.jpg": "a dog", "other.jpg": "a cat"}')
    with refuses(InvalidFile, "c.json", "other.jpg"):
        score_files(path, SMALL / "references.json")


REFERENCE_FAULTS = [
    ("", "found no captions, expected at least one"),
    ("{}", "found no captions, expected at least one"),
    (b"\xff\xfe[", "byte 0 is not UTF-8, expected a UTF-8 file"),
    ("nonsense", "line 1: is not JSON (expecting value), expected JSON"),
    ('{"a": ["x"],\n "b": oops}', "line 2: is not JSON (expecting value), expected JSON"),
    ('{"a": ["x"]\n "b": ["y"]}', "line 2: is not JSON (expecting ',' delimiter), expected JSON"),
    ('{"a": ["x"]} {}', "line 1: is not JSON (extra data), expected JSON"),
    ('["x"]', 'found ["x"], expected COCO captions JSON or an object of lists of captions'),
    ('{"a": ["x"],\n "b": "y"}', "r.json: image 'b' has \"y\", expected a list of captions"),
    ('{"a": ["x"],\n "b": [3]}', "image 'b' has [3], expected a list of captions"),
    ('{"a": ["x"],\n\n "b": []}', "image 'b' has no captions, expected at least one"),
    ('{"a": ["x"],\n "a": ["y"]}', "image 'a' occurs again, expected it once"),
    ('{"annotations": [\n{"image_id": 1}]}', "row 1: caption is missing or null, expected text"),
    (
        '{"annotations": [\n{"image_id": 1.5, "caption": "x"}]}',
        "row 1: image_id is 1.5, expected a name or a whole number",
    ),
    (
        '{"image": 1, "caption": "x"}\n\n{"image": 2, "caption": null}',
        "line 3: caption is missing or null, expected text",
    ),
    ('{"image": 1, "caption": "x"}\n{"image": 2,', "line 2: is not JSON"),
    ('{"image": 1, "caption": "x"}\n[1]', "line 2: found [1], expected an object with image and caption"),
    ('\n \n{"image": 1, "caption": "x"}\n{"image": ' + "[" * 200_000, "line 4: is nested too deeply"),
    (
        '{"image": 1, "caption": "x"}\n{"image": ' + "9" * 5000 + ', "caption": "x"}',
        "line 2: holds a number of more than 4,300 digits, expected captions",
    ),
    (
        '{"a": ["x"],\n "b": ' + "9" * 5000 + "}",
        "holds a number of more than 4,300 digits, expected captions",
    ),
    ('{"image": true, "caption": "x"}', "line 1: image is true, expected a name or a whole number"),
    ('{"image": 1, "caption": "x", "system": 7}', "line 1: system is 7, expected a name"),
]


@pytest.mark.parametrize(("text", "message"), REFERENCE_FAULTS)
def test_an_error_names_the_place_in_a_file_of_references(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    path = written(tmp_path, "r.json", text)
    with pytest.raises(InvalidFile) as caught:
        read_references(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"x"', 'found "x", expected COCO results JSON or an object of captions'),
        (
            '[{"image_id": 1, "caption": "x"}, {"image_id": 2, "caption": "y"}, 7]',
            "row 3: found 7, expected an object with image_id and caption",
        ),
        (
            '[{"image_id": 1, "caption": "x"},\n{"image_id": 1, "caption": "y"}]',
            "row 2: image '1' has a second caption of system 'c', expected one",
        ),
        ('{"a": "x",\n"b": ["y"]}', "image 'b' has [\"y\"], expected a caption"),
        ("[]", "found no captions, expected at least one"),
        ("[" * 200_000, "is nested too deeply, expected captions"),
        (
            '[{"image_id": ' + "9" * 5000 + ', "caption": "x"}]',
            "line 1: holds a number of more than 4,300 digits, expected captions",
        ),
    ],
)
def test_an_error_names_the_place_in_a_file_of_candidates(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        read_candidates(written(tmp_path, "c.json", text))
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refuses(InvalidFile, "nowhere.json", "directory"):
        read_candidates(tmp_path / "nowhere.json")


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
        ("--metrics=cidre", "cidre.*cider"),
        ("--metrics=,", "metrics is empty"),
        ("--tokenizer=ptp", "ptp.*ptb"),
        ("--candidates=nowhere.json", r"nowhere\.json.*directory"),
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
