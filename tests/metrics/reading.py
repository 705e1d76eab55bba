"""Golden numbers and captions for the tests of the metrics (tests/golden/README.md names their sources)."""

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quorum.numeric.arrays import Floats

GOLDEN = Path(__file__).parent.parent / "golden"
# Our metric -> the name under which the golden files hold it.
COCO = {name: name for name in ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d")}
GOLDEN_NAMES = COCO | {
    "cider": "cider-published",
    "cider-nostem": "cider-published-nostem",
    "cider-logn": "cider-porter",
}


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def expected_images(figures: dict[str, Any], images: list[str]) -> Floats:
    return np.array([figures["images"][image] for image in images])


def flickr8k(shared: Path) -> dict[str, list[str]]:
    """Image -> its five captions, in the order of their numbers."""
    captions: dict[str, list[str]] = {}
    for line in (shared / "data/flickr8k/Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        key, caption = line.split("\t")
        captions.setdefault(key.rsplit("#", 1)[0], []).append(caption)
    return captions


class Task(NamedTuple):
    """Captions of images with their references, and the scores that others gave them."""

    images: list[str]
    captions: list[str]
    references: list[list[str]]
    expected: Any


def small(system: str) -> Task:
    """A system of invented captions."""
    references = read_json(GOLDEN / "small/references.json")
    rows = [row for row in read_lines(GOLDEN / "small/candidates.jsonl") if row["system"] == system]
    images = [row["image"] for row in rows]
    expected = read_json(GOLDEN / "small/expected.json")["systems"][system]
    return Task(images, [row["caption"] for row in rows], [references[image] for image in images], expected)


def real(shared: Path, system: str) -> Task:
    """A system of real captions."""
    references: dict[str, list[str]] = {}
    for row in read_lines(shared / "golden/real/references.jsonl"):
        references.setdefault(row["image"], []).append(row["caption"])
    rows = read_json(shared / f"golden/real/candidates-{system}.json")
    images = [row["image_id"] for row in rows]
    expected = read_json(shared / "golden/real/expected.json")["systems"][system]
    return Task(images, [row["caption"] for row in rows], [references[image] for image in images], expected)


def coco(shared: Path, system: str) -> Task:
    """A system of the MS COCO challenge; `expected` has the corpus figures and those of some images."""
    folder = shared / "data/coco-captions"
    references: dict[str, list[str]] = {}
    for row in read_json(folder / "captions_karpathy_test4.json")["annotations"]:
        references.setdefault(str(row["image_id"]), []).append(row["caption"])
    captions = {str(row["image_id"]): row["caption"] for row in read_json(folder / f"{system}_results.json")}
    expected = read_json(folder / "expected_scores.json")["systems"][system]
    return Task(
        list(references), [captions[image] for image in references], list(references.values()), expected
    )


def expert_pairs(shared: Path) -> Task:
    """Flickr8k's expert pairs; `expected` has a column for each metric, of ten significant digits."""
    captions = flickr8k(shared)
    packed = (shared / "data/flickr8k/expert_metric_scores.tsv.gz").read_bytes()
    header, *rows = [line.split("\t") for line in gzip.decompress(packed).decode().splitlines()]
    ids = [row[1].rsplit("#", 1) for row in rows]
    images = [row[0] for row in rows]
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    candidates = [captions[image][int(number)] for image, number in ids]
    return Task(images, candidates, [captions[image] for image in images], columns)
