"""The figures of pycocoevalcap 1.2 and of the CIDEr authors' programs, on invented and on real captions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.metrics import Scores, score
from tests.metrics.reading import (
    COCO,
    GOLDEN,
    GOLDEN_NAMES,
    coco,
    expected_images,
    expert_pairs,
    read_json,
    real,
    small,
)

EXPECTED = read_json(GOLDEN / "small/expected.json")["systems"]
TOKENS = read_json(GOLDEN / "small/tokens.json")
SYSTEMS = ("close", "vague", "nasty")


def assert_agree(scores: Scores, expected: dict[str, Any], images: list[str], names: dict[str, str]) -> None:
    for ours, theirs in names.items():
        found = scores.scores[ours]
        np.testing.assert_allclose(
            found.images, expected_images(expected[theirs], images), rtol=0, atol=1e-12, err_msg=ours
        )
        assert found.corpus == pytest.approx(expected[theirs]["corpus"], rel=0, abs=1e-12), ours


@pytest.mark.parametrize("system", SYSTEMS)
def test_scores_of_raw_captions_are_those_of_the_peers(system: str) -> None:
    task = small(system)
    found = score(task.captions, task.references, metrics=list(GOLDEN_NAMES))
    assert_agree(found, task.expected, task.images, GOLDEN_NAMES)


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
    task = real(shared, system)
    names = {name: theirs for name, theirs in GOLDEN_NAMES.items() if "published" not in theirs}
    found = score(task.captions, task.references, metrics=list(names))
    assert_agree(found, task.expected, task.images, names)


@pytest.mark.parametrize("system", ["human", "system-1", "system-2", "system-3"])
def test_scores_of_the_coco_systems_are_those_of_the_peers(shared: Path, system: str) -> None:
    task = coco(shared, system)
    found = score(task.captions, task.references, metrics=list(COCO)).scores
    for name in COCO:
        assert found[name].corpus == pytest.approx(task.expected["corpus"][name], rel=0, abs=1e-10), name
        ours = dict(zip(task.images, found[name].images, strict=True))
        for image, values in task.expected["images"].items():
            assert ours[image] == pytest.approx(values[name], rel=0, abs=1e-10), (name, image)


def test_scores_of_flickr8ks_expert_pairs_are_those_of_the_peers(shared: Path) -> None:
    task = expert_pairs(shared)
    found = score(task.captions, task.references, metrics=list(COCO)).scores
    for name in COCO:
        expected = np.array(task.expected[name], dtype=np.float64)
        np.testing.assert_allclose(found[name].images, expected, rtol=1e-9, atol=1e-13, err_msg=name)
