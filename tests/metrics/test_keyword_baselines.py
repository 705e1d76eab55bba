"""The baselines for keywords: frequent terms, terms rare elsewhere, usual keywords, title, central sentence."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.metrics.keyword_baselines import (
    CALLS,
    KeywordList,
    corpus_frequency,
    document_title,
    sentence_extraction,
    term_frequency,
    tf_idf,
    topic_words,
)
from quorum.metrics.keywords import gold_tags, keyword_f1, keyword_forms, keyword_oot, keyword_terms
from quorum.metrics.signatures import call_of_measure
from quorum.metrics.text.word_lists import smart_stop_words
from quorum.metrics.topics import fit_topics
from tests.metrics import plain_annotation as plainly
from tests.refusals import assert_names

MALARIA = ["malaria", "spread", "mosquito", "malaria", "net", "mosquito", "malaria"]
POLICE = ["police", "net", "spread"]
WORD = st.sampled_from(["dog", "cat", "ball", "red", "sky"])
DOCUMENTS = st.lists(st.lists(WORD, max_size=8), max_size=6)
TAGS = st.dictionaries(WORD, st.integers(1, 4), max_size=4)


def test_the_most_frequent_terms_come_first_and_equal_ones_in_the_order_of_the_text() -> None:
    found = term_frequency([MALARIA, POLICE], keywords=3)
    assert found.annotations == (("malaria", "mosquito", "spread"), ("police", "net", "spread"))
    assert found.weights[0].tolist() == [3 / 7, 2 / 7, 1 / 7]
    assert found.signature == "keyword-tf|keywords:3|eval:include-infrequent|v:1.0"


def test_terms_that_every_other_document_holds_weigh_nothing() -> None:
    training = [["net", "spread"], ["net"], ["net", "police"], ["net", "mosquito", "mosquito"]]
    found = tf_idf([MALARIA], training=training, keywords=None)
    # "malaria" stands in no training document: it is taken as if one held it.
    expected = {
        "malaria": 3 / 7 * math.log(4),
        "mosquito": 2 / 7 * math.log(4),
        "spread": 1 / 7 * math.log(4),
        "net": 0,
    }
    assert found.annotations[0] == tuple(expected)
    assert found.weights[0].tolist() == pytest.approx(list(expected.values()), rel=1e-15)


def test_topics_are_those_of_another_program() -> None:
    golden = json.loads(Path(__file__).parent.with_name("golden").joinpath("lda.json").read_text())
    counts = scipy.sparse.csr_array(np.array(golden["counts"], dtype=np.float64))
    model = fit_topics(counts, 3, prior=0.25, tolerance=1e-12, sweeps=5000)
    assert model.converged
    assert model.topic_shares(counts, 1e-12) @ model.word_probabilities() == pytest.approx(
        np.array(golden["probabilities"]), abs=1e-6
    )


def test_one_topic_is_the_smoothed_frequency_of_the_whole_corpus() -> None:
    """(n_w + 1) / (N + V) with a prior of 1 / 1: 3 of malaria among 10 tokens of 5 different words."""
    found = topic_words([MALARIA, POLICE, ["unseen"], []], training=[MALARIA, POLICE], topics=1, keywords=2)
    assert found.annotations == (("malaria", "mosquito"), ("malaria", "mosquito"), (), ())
    assert found.weights[1].tolist() == pytest.approx([4 / 15, 3 / 15])
    assert_names(found.reason, "keyword", "2")
    assert "|topics:1|seed:0|" in found.signature


def test_topics_name_words_that_a_text_does_not_have_itself() -> None:
    health, crime = ["malaria", "mosquito", "net"], ["police", "theft", "court"]
    found = topic_words([["malaria", "net"], ["theft"]], training=[health, crime] * 10, topics=2, keywords=3)
    assert [set(words) for words in found.annotations] == [set(health), set(crime)]
    same = topic_words(
        [["malaria", "net"]], training=[health, crime] * 10, topics=2, vocabulary={"mosquito", "net"}
    )
    assert set(same.annotations[0]) == {"mosquito", "net"}


def test_documents_without_a_word_have_no_topics() -> None:
    nothing = topic_words([[], []])
    assert nothing.annotations == ((), ())
    assert_names(nothing.reason, "keyword", "2")


def test_topics_that_need_more_sweeps_say_so() -> None:
    counts = scipy.sparse.csr_array(np.array([[3.0, 1, 0], [0, 1, 3]]))
    assert not fit_topics(counts, 2, prior=0.5, sweeps=1).converged


def test_without_training_documents_the_other_documents_are_counted() -> None:
    others = [["net"], ["police", "net"], ["spread", "net"]]
    together = tf_idf([MALARIA, *others])
    apart = tf_idf([MALARIA], training=others)
    assert together.annotations[0] == apart.annotations[0]
    assert together.weights[0].tolist() == apart.weights[0].tolist()


def test_usual_keywords_are_the_same_for_every_image_but_for_its_own() -> None:
    gold = [{"cartoon": 6, "market": 5}, {"cartoon": 5, "lift": 2}, {"dog": 3, "lift": 1}]
    found = corpus_frequency(gold, keywords=2)
    assert found.annotations == (("cartoon", "dog"), ("cartoon", "market"), ("cartoon", "market"))
    assert [own.tolist() for own in found.weights] == [[5, 3], [6, 5], [11, 5]]


def test_usual_words_of_training_captions_are_given_to_every_image() -> None:
    found = corpus_frequency([{}, {"dog": 1}], training=[["dog", "cat"], ["dog"], ["ape"]], keywords=2)
    assert found.annotations == (("dog", "ape"), ("dog", "ape"))
    # Standard evaluation doesn't change which words are most frequent, says MC12 section 5.3.
    assert corpus_frequency([{}], training=[["dog"], ["dog"], ["ape"]], vocabulary=["dog"]).annotations == (
        ("dog",),
    )


def test_a_title_gives_each_of_its_terms_once_in_order() -> None:
    found = document_title([["bill", "gate", "open", "bill"], []])
    assert found.annotations == (("bill", "gate", "open"), ())
    assert (found.empty, found.reason) == (1, "images without a keyword to take: 1")
    assert np.isnan(found.weights[0]).all()


def test_the_sentence_closest_to_the_document_is_taken() -> None:
    document = [["police", "say"], ["malaria", "spread", "mosquito"], ["malaria", "mosquito"], [], ["net"]]
    found = sentence_extraction([document, [[]], []])
    words = [word for sentence in document for word in sentence]
    divergences = [plainly.divergence(own, words, 0.01) for own in document]
    divergences[3] = math.inf  # a sentence without terms says nothing
    assert found.sentence_positions == (int(np.argmin(divergences)), -1, -1) == (1, -1, -1)
    assert found.annotations == (("malaria", "spread", "mosquito"), (), ())
    assert found.empty == 2
    assert found.signature == "keyword-sentence|keywords:null|eval:include-infrequent|smoothing:0.01|v:1.0"


def test_the_first_of_equal_sentences_is_taken() -> None:
    document = [["a", "b", "c", "a"], ["d"], ["c", "a", "a", "b"]]
    assert sentence_extraction([document]).sentence_positions == (0,)
    assert sentence_extraction([document[::-1]]).sentence_positions == (0,)


@settings(max_examples=40)
@given(st.lists(st.lists(WORD, max_size=6), max_size=5), st.sampled_from([1e-6, 0.01, 1.0]))
def test_the_chosen_sentence_has_the_smallest_divergence(document: list[list[str]], smoothing: float) -> None:
    chosen = sentence_extraction([document], smoothing=smoothing).sentence_positions[0]
    words = [word for sentence in document for word in sentence]
    divergences = {
        place: plainly.divergence(own, words, smoothing) for place, own in enumerate(document) if own
    }
    if chosen < 0:
        assert not divergences
    else:
        assert divergences[chosen] <= min(divergences.values()) + 1e-9


@settings(max_examples=30)
@given(st.lists(TAGS, max_size=6), st.integers(1, 4))
def test_leaving_an_image_out_is_counting_the_others(gold: list[dict[str, int]], keywords: int) -> None:
    found = corpus_frequency(gold, keywords=keywords)
    for place, own in enumerate(found.annotations):
        others = [
            tag for i, tags in enumerate(gold) if i != place for tag, n in tags.items() for _ in range(n)
        ]
        ranked = sorted(set(others), key=lambda tag: (-others.count(tag), tag))
        assert list(own) == ranked[:keywords]
        assert found.weights[place].tolist() == [others.count(tag) for tag in own]


@settings(max_examples=30)
@given(DOCUMENTS, DOCUMENTS.filter(bool), st.none() | st.frozensets(WORD))
def test_weights_follow_from_the_definitions(
    documents: list[list[str]], training: list[list[str]], vocabulary: frozenset[str] | None
) -> None:
    frequency = term_frequency(documents, keywords=None, vocabulary=vocabulary)
    rarity = tf_idf(documents, training=training, keywords=None, vocabulary=vocabulary)
    for place, document in enumerate(documents):
        words = {word for word in document if vocabulary is None or word in vocabulary}
        for found in (frequency, rarity):
            assert set(found.annotations[place]) == words
            assert len(found.annotations[place]) == len(words)
            assert np.all(np.diff(found.weights[place]) <= 0)
        for word, weight in zip(frequency.annotations[place], frequency.weights[place], strict=True):
            assert weight == document.count(word) / len(document)
        for word, weight in zip(rarity.annotations[place], rarity.weights[place], strict=True):
            holders = max(sum(word in other for other in training), 1)
            expected = document.count(word) / len(document) * math.log(len(training) / holders)
            assert weight == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_a_vocabulary_leaves_other_words_out_of_the_candidates_and_of_the_comparison() -> None:
    known = frozenset({"malaria", "net"})
    assert term_frequency([MALARIA], vocabulary=known).annotations == (("malaria", "net"),)
    assert tf_idf([MALARIA], training=[["net"], ["dog"]], vocabulary=known).annotations == (
        ("malaria", "net"),
    )
    assert document_title([POLICE], vocabulary=known).annotations == (("net",),)
    found = sentence_extraction([[["police", "spread", "police"], ["net"]]], vocabulary=known)
    assert (found.annotations, found.sentence_positions) == ((("net",),), (1,))
    assert found.signature.startswith("keyword-sentence|keywords:null|eval:standard|vocabulary:given-2-")


def test_baselines_are_scored_as_systems_are() -> None:
    texts = ["Malaria is spread by mosquitoes, and mosquito nets stop malaria", "Police officers walk"]
    documents = keyword_terms(texts, stop_words=smart_stop_words())
    gold = gold_tags([[["malaria", "mosquito"], ["Mosquitoes"]], [["police"]]])
    assert keyword_oot(term_frequency(documents).annotations, gold).recall == 1.0
    assert keyword_f1(term_frequency(documents, keywords=1).annotations, gold).precision == 1.0


def test_terms_are_stems_of_words_that_are_no_stop_words() -> None:
    assert keyword_terms(
        ["The Dogs, running and the DOG's ball!", "", "!!! 🐕", "כלב רץ"], stop_words=["the", "and"]
    ) == [
        ["dog", "run", "dog", "s", "ball"],
        [],
        [],
        ["כלב", "רץ"],
    ]
    assert keyword_terms(["Running s dogs"], stem="none") == [["running", "s", "dogs"]]
    assert keyword_terms(["dogs s"], stem="porter-1980") == [["dog"]]  # by the paper, nothing is left of "s"


def test_keywords_of_one_form_are_equal() -> None:
    assert keyword_forms(["Bill Gates", "bill  gate", "Pearly-Gates", " 🚀 ", "", "s"]) == [
        "bill gate",
        "bill gate",
        "pearli gate",
        "🚀",
        "",
        "s",
    ]
    assert keyword_forms(["s", "dogs s"], stem="porter-1980") == ["s", "dog"]


def test_signatures_lead_back_to_the_call() -> None:
    documents = [MALARIA, POLICE]
    gold = [{"dog": 1}, {"cat": 2, "dog": 1}]
    sentences = [[["a", "b"], ["b"]], [["c"]]]
    training = [["net"], ["dog"]]
    cases: list[tuple[KeywordList, Any, dict[str, Any]]] = [
        (term_frequency(documents, keywords=2, vocabulary={"net"}), documents, {"vocabulary": {"net"}}),
        (tf_idf(documents, keywords=None), documents, {}),
        (tf_idf(documents, training=training), documents, {"training": training}),
        (corpus_frequency(gold), gold, {}),
        (corpus_frequency(gold, training=training, keywords=1), gold, {"training": training}),
        (document_title(documents), documents, {}),
        (sentence_extraction(sentences, smoothing=0.5), sentences, {}),
    ]
    for found, data, given_again in cases:
        again = call_of_measure(found.signature, CALLS)(data, **given_again)
        assert (again.signature, again.annotations) == (found.signature, found.annotations)
