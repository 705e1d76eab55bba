"""The figures of pycocoevalcap 1.2 and of the CIDEr authors' programs, on invented and on real captions."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.metrics import Scores, score
from tests.metrics.reading import (
    COCO,
    GOLDEN,
    GOLDEN_NAMES,
    expected_images,
    flickr8k,
    read_json,
    read_lines,
)

EXPECTED = read_json(GOLDEN / "small/expected.json")["systems"]
TOKENS = read_json(GOLDEN / "small/tokens.json")
REFERENCES = read_json(GOLDEN / "small/references.json")
SYSTEMS = ("close", "vague", "nasty")


def assert_agree(scores: Scores, expected: dict[str, Any], images: list[str], names: dict[str, str]) -> None:
    for ours, theirs in names.items():
        found = scores.scores[ours]
        np.testing.assert_allclose(
            found.images, expected_images(expected[theirs], images), rtol=0, atol=1e-12, err_msg=ours
        )
        assert found.corpus == pytest.approx(expected[theirs]["corpus"], rel=0, abs=1e-12), ours


@pytest.mark.parametrize("system", SYSTEMS)
def test_scores_of_tokenised_captions_are_those_of_the_peers(system: str) -> None:
    captions = TOKENS["candidates"][system]
    images = list(captions)
    found = score(
        list(captions.values()),
        [TOKENS["references"][image] for image in images],
        metrics=list(GOLDEN_NAMES),
        tokenizer="space",
    )
    assert_agree(found, EXPECTED[system], images, GOLDEN_NAMES)


@pytest.mark.parametrize("system", SYSTEMS)
def test_scores_of_raw_captions_are_those_of_the_peers(system: str) -> None:
    rows = [row for row in read_lines(GOLDEN / "small/candidates.jsonl") if row["system"] == system]
    images = [row["image"] for row in rows]
    found = score(
        [row["caption"] for row in rows], [REFERENCES[image] for image in images], metrics=list(GOLDEN_NAMES)
    )
    assert_agree(found, EXPECTED[system], images, GOLDEN_NAMES)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_smoothed_bleu_is_that_of_nltk_wherever_a_word_matches(system: str, order: int) -> None:
    captions, expected = TOKENS["candidates"][system], EXPECTED[system][f"bleu-{order}-smooth3"]
    images = list(captions)
    found = score(
        list(captions.values()),
        [TOKENS["references"][image] for image in images],
        [f"bleu-{order}"],
        "space",
        smoothing="nist",
    ).scores[f"bleu-{order}"]
    np.testing.assert_allclose(found.images, expected_images(expected, images), rtol=0, atol=1e-12)
    # nltk's corpus figure here is the mean; ours sums the statistics first, as for every BLEU.
    assert found.images.mean() == pytest.approx(expected["corpus"], abs=1e-12)


@pytest.mark.parametrize("system", ["nearest", "random"])
def test_scores_of_real_captions_are_those_of_the_peers(shared: Path, system: str) -> None:
    references: dict[str, list[str]] = {}
    for row in read_lines(shared / "golden/real/references.jsonl"):
        references.setdefault(row["image"], []).append(row["caption"])
    rows = read_json(shared / f"golden/real/candidates-{system}.json")
    images = [row["image_id"] for row in rows]
    names = {name: theirs for name, theirs in GOLDEN_NAMES.items() if "published" not in theirs}
    found = score(
        [row["caption"] for row in rows], [references[image] for image in images], metrics=list(names)
    )
    expected = read_json(shared / "golden/real/expected.json")["systems"][system]
    assert_agree(found, expected, images, names)


@pytest.mark.parametrize("system", ["human", "system-1", "system-2", "system-3"])
def test_scores_of_the_coco_systems_are_those_of_the_peers(shared: Path, system: str) -> None:
    folder = shared / "data/coco-captions"
    references: dict[str, list[str]] = {}
    for row in read_json(folder / "captions_karpathy_test4.json")["annotations"]:
        references.setdefault(str(row["image_id"]), []).append(row["caption"])
    captions = {str(row["image_id"]): row["caption"] for row in read_json(folder / f"{system}_results.json")}
    found = score(
        [captions[image] for image in references], list(references.values()), metrics=list(COCO)
    ).scores
    expected = read_json(folder / "expected_scores.json")["systems"][system]
    place = {image: index for index, image in enumerate(references)}
    for name in COCO:
        assert found[name].corpus == pytest.approx(expected["corpus"][name], rel=0, abs=1e-10), name
        for image, values in expected["images"].items():
            ours = found[name].images[place[image]]
            assert ours == pytest.approx(values[name], rel=0, abs=1e-10), (name, image)


def test_scores_of_flickr8ks_expert_pairs_are_those_of_the_peers(shared: Path) -> None:
    captions = flickr8k(shared)
    packed = (shared / "data/flickr8k/expert_metric_scores.tsv.gz").read_bytes()
    header, *rows = [line.split("\t") for line in gzip.decompress(packed).decode().splitlines()]
    candidates = []
    for _, caption_id, *_ in rows:
        image, number = caption_id.rsplit("#", 1)
        candidates.append(captions[image][int(number)])
    found = score(candidates, [captions[row[0]] for row in rows], metrics=list(COCO)).scores
    for name in COCO:
        expected = np.array([float(row[header.index(name)]) for row in rows])
        # The file holds ten significant digits.
        np.testing.assert_allclose(found[name].images, expected, rtol=1e-9, atol=1e-13, err_msg=name)
