"""Make the demo's two systems from the captions of its dataset; the files always have the same bytes.

    python -m contrib.demo.make_systems [FOLDER]

writes `nearest.jsonl` and `random.jsonl` into FOLDER (default: `demo/systems`).

`nearest` is the nearest-neighbour baseline of Hodosh et al. (2013, section 3): a photograph is represented by the bag
of words of its five captions, bags are compared by F1 with words weighted by inverse document frequency, and the output
is the first caption of the nearest other photograph. It only stands in for a model, because it reads captions of the
photograph to describe.
`random` outputs the first caption of another, random photograph. Neither outputs one of the photograph's own captions.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from contrib.demo import FOLDER

SEED = 2015

Captions = Mapping[str, list[str]]  # the captions of each photograph, by its file name
Bag = Counter[str]  # how often each word occurs in the captions of a photograph


def _read_captions(path: Path) -> dict[str, list[str]]:
    captions: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        captions.setdefault(row["image"], []).append(row["caption"])
    return captions


def bag_of_words(captions: Iterable[str]) -> Bag:
    """Return counts of words: runs of letters and digits, in lower case."""
    bag: Bag = Counter()
    for text in captions:
        bag.update(re.findall(r"[a-z0-9]+", text.lower()))
    return bag


def inverse_document_frequency(bags: Iterable[Bag]) -> dict[str, float]:
    """Return log(number of bags / number of bags with the word) for each word."""
    all_bags = list(bags)
    bag_counts: Counter[str] = Counter()
    for bag in all_bags:
        bag_counts.update(bag.keys())
    return {word: math.log(len(all_bags) / count) for word, count in bag_counts.items()}


def weighted_f1(first: Bag, second: Bag, weights: Mapping[str, float]) -> float:
    """Return 2 * shared / (first + second), where each is a sum of counts times weights of words; 0 if they are 0."""

    def weight(bag: Bag) -> float:
        # Sum exactly, so that the order of words does not decide between equal neighbours.
        return math.fsum(weights[word] * count for word, count in bag.items())

    total = weight(first) + weight(second)
    return 2 * weight(first & second) / total if total else 0.0


def usable_captions(captions: Captions, image: str) -> dict[str, str]:
    """Return the first captions of other photographs, by photograph, without captions that `image` also has."""
    captions_of_image = set(captions[image])
    return {
        other_image: texts[0]
        for other_image, texts in captions.items()
        if other_image != image and texts[0] not in captions_of_image
    }


def nearest_captions(captions: Captions) -> dict[str, str]:
    """Return, for each photograph, the first caption of the nearest other photograph.

    Of several equally near photographs, take the one whose name is first in alphabetical order.
    """
    bags = {image: bag_of_words(texts) for image, texts in captions.items()}
    weights = inverse_document_frequency(bags.values())
    captions_by_image = {}
    for image in captions:
        texts = usable_captions(captions, image)
        neighbour = max(sorted(texts), key=lambda name: weighted_f1(bags[image], bags[name], weights))
        captions_by_image[image] = texts[neighbour]
    return captions_by_image


def random_captions(captions: Captions, seed: int) -> dict[str, str]:
    """Return, for each photograph, the first caption of another photograph, which is drawn at random."""
    draws = random.Random(seed)
    captions_by_image = {}
    for image in captions:
        texts = list(usable_captions(captions, image).values())
        # Python guarantees the same sequence in later versions only for random().
        captions_by_image[image] = texts[int(draws.random() * len(texts))]
    return captions_by_image


def make_systems(folder: Path) -> None:
    captions = _read_captions(FOLDER / "dataset.jsonl")
    folder.mkdir(parents=True, exist_ok=True)
    for name, system_captions in (
        ("nearest", nearest_captions(captions)),
        ("random", random_captions(captions, SEED)),
    ):
        rows = ({"image": image, "caption": text} for image, text in system_captions.items())
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    make_systems(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "systems")
