"""Scores against plain definitions, golden scores and the printed figures of PASCAL-50S."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.metrics import Scores, UnknownName, score
from quorum.metrics.text import ngrams
from quorum.metrics.text.changes import change_words
from quorum.metrics.text.tokenizers import TOKENIZERS
from quorum.metrics.text.tokens import encode_texts
from tests.metrics import plainly
from tests.metrics.reading import (
    COCO,
    GOLDEN,
    GOLDEN_NAMES,
    coco,
    expected_images,
    expert_pairs,
    read_json,
    read_lines,
    real,
    small,
)
from tests.refusals import refuses

# Few words, so that n-grams repeat and meet.
CAPTION = st.lists(st.sampled_from(["a", "dog", "cat", "runs", "the"]), max_size=7).map(" ".join)
REFERENCES = st.lists(CAPTION, min_size=1, max_size=4)
TASK = st.lists(st.tuples(CAPTION, REFERENCES), min_size=1, max_size=6)
EXACT: dict[str, Any] = {"rel": 1e-9, "abs": 1e-12}


@settings(max_examples=30)
@given(TASK, st.none() | st.lists(REFERENCES, min_size=1, max_size=4))
def test_scores_follow_from_the_definitions(
    task: list[tuple[str, list[str]]], corpus: list[list[str]] | None
) -> None:
    candidates, references = [pair[0] for pair in task], [pair[1] for pair in task]
    documents = references if corpus is None else corpus
    found = score(
        candidates,
        references,
        metrics=["bleu-1", "bleu-4", "rouge-l", "cider-d", "cider", "cider-logn"],
        tokenizer="space",
        document_corpus=corpus,
        stem="none",
    ).scores
    for i, (candidate, own) in enumerate(task):
        expected = {
            "bleu-1": plainly.bleu(candidate, own, 1),
            "bleu-4": plainly.bleu(candidate, own, 4),
            "rouge-l": plainly.rouge_l(candidate, own),
            "cider-d": plainly.cider(candidate, own, documents, clipped=True),
            "cider": plainly.cider(candidate, own, documents),
            "cider-logn": plainly.cider(candidate, own, documents, logn=True),
        }
        assert {name: found[name].images[i] for name in expected} == pytest.approx(expected, **EXACT)


@settings(max_examples=30)
@given(st.lists(CAPTION, min_size=1, max_size=6), REFERENCES)
def test_candidates_that_share_a_reference_list_score_as_if_each_had_its_own(
    candidates: list[str], references: list[str]
) -> None:
    metrics = ["bleu-4", "rouge-l", "cider-d", "cider-max", "bleu-pre", "rouge-h13"]
    corpus = [references, ["a cat"], ["the dog runs"]]
    together = score(candidates, [references] * len(candidates), metrics, "space", corpus)
    for i, candidate in enumerate(candidates):
        alone = score([candidate], [list(references)], metrics, "space", corpus)
        for name in metrics:
            assert together.scores[name].images[i] == pytest.approx(alone.scores[name].images[0], **EXACT)


@pytest.mark.parametrize("length", [63, 64, 65, 200])
def test_rouge_l_of_captions_beyond_a_machine_word_is_exact(length: int) -> None:
    rng = np.random.default_rng(length)
    candidate, reference = (
        " ".join(rng.choice(["a", "b", "c", "d"], size=size).tolist()) for size in (length, length + 9)
    )
    found = score([candidate], [[reference]], ["rouge-l"], "space").scores["rouge-l"].corpus
    assert found == pytest.approx(plainly.rouge_l(candidate, [reference]), **EXACT)


def corpus_of_four() -> list[list[str]]:
    return [["a dog runs", "a dog"], ["a cat sits"], ["a bird sings"], ["a fish swims"]]


def test_cider_of_a_word_that_two_of_four_documents_hold_weighs_log_two() -> None:
    documents = [["dog"], ["dog"], ["cat"], ["bird"]]
    found = score(["dog cat", "cat"], [["dog"], ["cat"]], ["cider"], "space", documents, n=1).scores["cider"]
    # The candidate's vector is (log 2, log 4) = log 2 (1, 2), the reference's (log 2, 0).
    assert found.images == pytest.approx([1 / math.sqrt(5), 1.0], **EXACT)


def test_the_papers_cider_drops_what_no_document_holds_and_the_later_code_weighs_it_log_n() -> None:
    documents = [["dog"], ["cat"], ["bird"], ["fish"]]
    found = score(["dog zebra"], [["dog"]], ["cider", "cider-logn"], "space", documents, n=1).scores
    assert found["cider"].corpus == pytest.approx(1.0, **EXACT)
    assert found["cider-logn"].corpus == pytest.approx(1 / math.sqrt(2), **EXACT)


def test_cider_max_takes_the_best_reference_and_cider_the_mean() -> None:
    documents = [["dog", "cat"], ["bird"], ["fish"]]
    found = score(["dog"], [["dog", "cat"]], ["cider", "cider-max"], "space", documents, n=1).scores
    assert found["cider"].corpus == pytest.approx(0.5, **EXACT)
    assert found["cider-max"].corpus == pytest.approx(1.0, **EXACT)


def test_cider_exp_weighs_the_orders_as_powers_of_e() -> None:
    documents = [["dog cat"], ["bird"], ["fish"]]
    found = score(["cat dog"], [["dog cat"]], ["cider", "cider-exp"], "space", documents, n=2).scores
    # The words agree, the bigrams do not.
    assert found["cider"].corpus == pytest.approx(0.5, **EXACT)
    assert found["cider-exp"].corpus == pytest.approx(1 / (1 + math.e), **EXACT)


def test_cider_noidf_lets_common_words_count_like_rare_ones() -> None:
    documents = [["the dog"], ["the cat"]]
    found = score(["the cat"], [["the dog"]], ["cider", "cider-noidf"], "space", documents, n=1).scores
    assert found["cider"].corpus == pytest.approx(0.0, **EXACT)
    assert found["cider-noidf"].corpus == pytest.approx(0.5, **EXACT)


def test_cider_nostem_tells_dogs_from_dog() -> None:
    documents = [["dog"], ["cat"]]
    found = score(["dogs"], [["dog"]], ["cider", "cider-nostem"], "space", documents, n=1).scores
    assert (found["cider"].corpus, found["cider-nostem"].corpus) == (1.0, 0.0)


def test_a_wider_sigma_forgives_a_difference_in_length() -> None:
    documents = corpus_of_four()
    narrow, wide = (
        score(["a dog runs far"], [["a dog runs"]], ["cider-d"], "space", documents, sigma=sigma).scores[
            "cider-d"
        ]
        for sigma in (1.0, 100.0)
    )
    # The captions are one bigram apart.
    assert narrow.corpus / wide.corpus == pytest.approx(math.exp(-0.5) / math.exp(-0.5e-4), **EXACT)


def many_captions() -> tuple[list[str], list[list[str]]]:
    """Captions in which thousands of n-grams occur twice or more, and as many once."""
    rng = np.random.default_rng(3)
    words = rng.integers(0, 90, (700, 12)).astype(str)
    texts = [" ".join(row) for row in [*words[:500], *words[300:600]]]
    return texts[:200], [texts[200 + 3 * i : 203 + 3 * i] for i in range(200)]


def test_ngrams_numbered_in_many_rounds_give_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    captions = many_captions()
    at_once = score(*captions, ["cider-d"], "space").scores["cider-d"].images
    monkeypatch.setattr(ngrams, "TOKENS_PER_BUCKET", 3000)
    in_rounds = score(*captions, ["cider-d"], "space").scores["cider-d"].images
    assert in_rounds.tolist() == at_once.tolist()


def test_stems_of_the_1980_paper_lose_the_word_s() -> None:
    words = change_words(encode_texts(["it s dogs"], TOKENIZERS["space"]), "porter-1980")
    assert [words.vocabulary[number] for number in words.tokens] == ["it", "dog"]


def test_an_unknown_change_of_words_is_answered_with_the_known_ones() -> None:
    with refuses(UnknownName, "unknown", "porter-1990", "porter-1980"):
        change_words(encode_texts(["dogs"], TOKENIZERS["space"]), "porter-1990")


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


CONSENSUS_REFERENCES = 48


def test_cider_is_that_of_its_authors(shared: Path) -> None:
    folder = shared / "data/pascal-50s"
    # One reference reads "ovr=er", which the authors' program did not take apart.
    references = {
        row["image"]: [text.replace("=", "") for text in row["references"]]
        for row in read_lines(folder / "references.jsonl")
    }
    pairs = read_lines(folder / "pairs.jsonl")
    found = score(
        [pair["first"] for pair in pairs],
        [references[pair["image"]] for pair in pairs],
        metrics=["cider"],
        tokenizer="v15",
        document_corpus=list(references.values()),
    )
    rows = (folder / "cider_v01_first.tsv").read_text().splitlines()[1:]
    expected = np.array([float(row.split("\t")[5]) for row in rows])
    np.testing.assert_allclose(found.scores["cider"].images, expected, rtol=0, atol=1e-12)


def test_cider_agrees_with_people_as_often_as_published(shared: Path) -> None:
    folder = shared / "data/pascal-50s"
    references = {
        row["image"]: row["references"][:CONSENSUS_REFERENCES]
        for row in read_lines(folder / "references.jsonl")
    }
    pairs = read_lines(folder / "pairs.jsonl")
    found = score(
        [pair["first"] for pair in pairs] + [pair["second"] for pair in pairs],
        [references[pair["image"]] for pair in pairs] * 2,
        metrics=["cider"],
        tokenizer="v15",
        document_corpus=list(references.values()),
    ).scores["cider"]
    first, second = np.split(found.images, 2)
    named = np.select([first > second, second > first], [1, 2], default=0)  # a tie names nobody
    right = named == [pair["triplet_winner"] for pair in pairs]
    kinds = np.array([pair["kind"] for pair in pairs])
    accuracy = {kind: 100 * right[kinds == kind].mean() for kind in ("HC", "HI", "HM", "MM")}
    assert accuracy == pytest.approx({"HC": 71.8, "HI": 99.7, "HM": 91.9, "MM": 72.2}, abs=0.05)
    assert found.signature.startswith("cider|n:4|stem:porter|unseen:dropped|tok:v15|refs:48|df:given-1000-")
