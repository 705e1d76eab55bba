"""Published sets among the files of an upload."""

import json
from pathlib import Path

import pytest

from judgments.datasets.understanding import inspect_upload
from judgments.datasets.upload_parts import LEFT_OUT, PEOPLE, SYSTEM, UploadPart

FLICKR8K = {
    "CrowdFlowerAnnotations.txt": "a.jpg\ta.jpg#2\t1\t3\t0\n",
    "Flickr8k.token.txt": "a.jpg#0\tA dog runs\n",
    "Flickr_8k.testImages.txt": "a.jpg\n",
}
FIFTY = {
    "pairs.jsonl": '{"pair": "1", "image": "a"}\n',
    "references.jsonl": '{"image": "a", "references": ["a dog"]}\n',
}
CAPTIONS = json.dumps({"images": [{"id": 1}], "annotations": [{"id": 7, "image_id": 1, "caption": "A dog"}]})
RESULTS = json.dumps([{"image_id": 1, "caption": "A dog"}])
TABLE = "image,caption\na.jpg,A dog\n"


def parts_of(folder: Path, files: dict[str, str]) -> list[UploadPart]:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    understood = inspect_upload(folder, [], uploaded=["set.zip"], maps={})
    assert understood.problems == []
    return understood.parts


@pytest.mark.parametrize(
    ("folder", "files", "format", "words"),
    [
        ("Flickr8k", FLICKR8K, "flickr8k", "Flickr8k"),
        ("pascal", FIFTY, "pascal-50s", "PASCAL-50S"),
        ("abstract", FIFTY, "abstract-50s", "abstract-50s"),
    ],
)
def test_the_files_of_a_set_are_one_part_with_the_name_of_their_folder(
    folder: str, files: dict[str, str], format: str, words: str, tmp_path: Path
) -> None:
    [part] = parts_of(tmp_path, {f"{folder}/{name}": content for name, content in files.items()})
    assert (part.file, part.format, part.format_label, part.role) == (folder, format, words, PEOPLE)


def test_only_names_in_the_upload_tell_the_two_sets_of_fifty_apart(tmp_path: Path) -> None:
    uploads = tmp_path / "abstracts" / "upload-1"  # a folder of the server, which the uploader does not know
    [pascal] = parts_of(uploads, {f"pascal/{name}": content for name, content in FIFTY.items()})
    files = {f"ABSTRACT-50S/{name}": content for name, content in FIFTY.items()}
    [abstract] = parts_of(tmp_path / "upload-2", files)
    assert (pascal.format, abstract.format) == ("pascal-50s", "abstract-50s")


def test_a_table_beside_a_set_is_a_part_of_its_own(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, FLICKR8K | {"model.csv": TABLE})
    assert [(part.file, part.format, part.role) for part in parts] == [
        (".", "flickr8k", PEOPLE),
        ("model.csv", "csv", SYSTEM),
    ]


def test_captions_of_ms_coco_are_people_s_and_its_results_a_system_s(tmp_path: Path) -> None:
    files = {"captions.json": CAPTIONS, "own.json": CAPTIONS, "up-down.json": RESULTS}
    parts = parts_of(tmp_path, files)
    assert [(part.file, part.format, part.role, part.system) for part in parts] == [
        ("captions.json", "coco", PEOPLE, ""),
        ("up-down.json", "coco", SYSTEM, "up-down"),
        ("own.json", "coco", LEFT_OUT, ""),
    ]


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("pairs.jsonl", '{"image": "a", "caption": "A dog"}\n', "jsonl"),
        ("Flickr_8k.testImages.txt", TABLE, "csv"),
        ("list.json", '[{"image": "a", "caption": "A dog"}]', "json"),
    ],
)
def test_a_file_that_only_looks_like_one_of_a_set_is_a_table(
    name: str, content: str, format: str, tmp_path: Path
) -> None:
    assert [(part.file, part.format) for part in parts_of(tmp_path, {name: content})] == [(name, format)]
