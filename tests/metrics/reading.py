"""Golden numbers and captions for the tests of the metrics (tests/golden/README.md names their sources)."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.arrays import Floats

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
