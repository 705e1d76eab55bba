"""Overlap as Hodosh, Young and Hockenmaier count it, and their filter of image-caption pairs."""

from pathlib import Path

import numpy as np
import pytest

from quorum.metrics import InvalidInput, UnknownName, bleu_pre_matrix, bleu_pre_pairs, score
from tests.metrics.reading import GOLDEN, flickr8k, read_json
from tests.refusals import refuses

H13 = read_json(GOLDEN / "h13.json")
DOG, CAT = "A brown dog jumps over a brown dog .", "A cat and a dog sleep"


@pytest.mark.parametrize("metric", ["bleu-h13", "bleu-pre", "rouge-h13"])
def test_one_reference_gives_the_precision_or_recall_of_the_rouge_script(metric: str) -> None:
    expected = H13[metric] if metric == "bleu-h13" else H13[metric]["porter"]
    pairs = list(H13["candidates"])
    found = score(
        [H13["candidates"][pair] for pair in pairs],
        [H13["references"][pair] for pair in pairs],
        metrics=[metric],
    )
    # The script prints twelve digits.
    np.testing.assert_allclose(
        found.scores[metric].images, [expected[pair] for pair in pairs], rtol=0, atol=1e-12
    )


def test_several_references_are_maxed_for_bleu_and_summed_for_rouge() -> None:
    found = score(
        ["dog dog runs"],
        [["dog dog dog", "dog runs past"]],
        metrics=["bleu-h13", "bleu-pre", "rouge-h13"],
    ).scores
    # Bleu: dog twice (first reference), runs once (second): 3 of 3. Rouge: 2 of 3 and 2 of 3 words.
    assert found["bleu-h13"].images.tolist() == [1.0]
    assert found["bleu-pre"].images.tolist() == [1.0]
    assert found["rouge-h13"].images.tolist() == [4 / 6]


def test_a_caption_of_stop_words_alone_scores_nothing() -> None:
    found = score(["it is on the"], [["it is on the"]], metrics=["bleu-h13", "bleu-pre", "rouge-h13"]).scores
    assert [found[name].corpus for name in found] == [1.0, 0.0, 0.0]


def test_the_order_of_stemming_and_stop_words_can_be_turned_round() -> None:
    # "goings" is no stop word, its stem "go" is one.
    stop_first = score(["people goings"], [["people"]], metrics=["bleu-pre"]).scores["bleu-pre"]
    stem_first = score(["people goings"], [["people"]], metrics=["bleu-pre"], order="stem-first").scores[
        "bleu-pre"
    ]
    assert (stop_first.corpus, stem_first.corpus) == (0.5, 1.0)
    assert stem_first.signature == "bleu-pre|order:stem-first|tok:rouge|refs:1|v:1.0"


def test_the_matrix_counts_what_the_metric_divides() -> None:
    captions = [DOG, CAT, "the of and", "Dogs sleeping dogs dogs"]
    references = [
        [DOG, "two dogs sleep , dogs play"],
        [CAT],
        ["nothing here"],
        [DOG, "two dogs sleep , dogs play"],
    ]
    for order in ("stop-first", "stem-first"):
        hits, totals = bleu_pre_matrix(captions, references, order=order)
        assert hits.shape == (4, 4)
        assert hits.dtype.kind == totals.dtype.kind == "i"
        for image, texts in enumerate(references):
            one = score(captions, [texts] * 4, metrics=["bleu-pre"], order=order).scores["bleu-pre"].images
            expected = np.divide(hits[image], totals, out=np.zeros(4), where=totals > 0)
            np.testing.assert_array_equal(one, expected)


def test_a_word_said_again_and_again_counts_as_often_as_one_reference_says_it() -> None:
    hits, totals = bleu_pre_matrix(["dog dog dog dog"], [["dog dog", "dog dog dog"], ["cat"], ["dog"]])
    assert hits.tolist() == [[3], [0], [1]]
    assert totals.tolist() == [4]


def test_the_matrix_refuses_what_it_cannot_count() -> None:
    with pytest.raises(InvalidInput, match="empty"):
        bleu_pre_matrix([], [["a"]])
    with pytest.raises(InvalidInput, match="references is empty"):
        bleu_pre_matrix(["a"], [])
    with refuses(UnknownName, "stemfirst", "stem-first"):
        bleu_pre_matrix(["a"], [["a"]], order="stemfirst")


@pytest.mark.parametrize(
    ("order", "filtered", "good_lost", "best_lost"),
    [("stem-first", 85.3, 6.74, 3.53), ("stop-first", 85.5, 7.11, 4.01)],
)
def test_the_filter_of_flickr8k_loses_what_h13_says_it_loses(
    shared: Path, order: str, filtered: float, good_lost: float, best_lost: float
) -> None:
    captions = flickr8k(shared)
    images = (shared / "data/flickr8k/Flickr_8k.testImages.txt").read_text().split()
    place = {image: index for index, image in enumerate(images)}
    hits, totals = bleu_pre_matrix(
        [captions[image][2] for image in images], [captions[image] for image in images], order=order
    )
    kept = (4 * hits >= totals) & (totals > 0)
    assert round(100 * (1 - kept.mean()), 1) == filtered
    experts = (shared / "data/flickr8k/ExpertAnnotations.txt").read_text().splitlines()
    for least, lost in ((8, good_lost), (9, best_lost)):
        judged = [line.split("\t") for line in experts if sum(map(int, line.split("\t")[2:])) >= least]
        passed = [kept[place[image], place[caption.split("#")[0]]] for image, caption, *_ in judged]
        assert round(100 * (1 - np.mean(passed)), 2) == lost


def test_some_pairs_have_the_counts_that_all_pairs_have() -> None:
    captions = ["dog dog dog dog", "cat and dog", "the of", "stone towers"]
    references = [["dog dog", "dog dog dog"], ["cat", "stone tower"], ["dog dog", "dog dog dog"]]
    hits, totals = bleu_pre_matrix(captions, references)
    chosen = [np.array([3, 0]), np.array([], dtype=np.int64), np.array([1, 2, 0])]
    found, lengths = bleu_pre_pairs(captions, references, chosen)
    assert found.tolist() == [hits[0, 3], hits[0, 0], hits[2, 1], hits[2, 2], hits[2, 0]] == [0, 3, 1, 0, 3]
    assert lengths.tolist() == totals.tolist()
