"""What content selection and keywords cannot take is refused in a sentence."""

import math
import re
from typing import Any

import pytest

import quorum.metrics.content
import quorum.metrics.keywords
from quorum.metrics import InvalidInput, UnknownName, content_baselines, keyword_baselines

# Called with what their types forbid.
content: Any = quorum.metrics.content
keywords: Any = quorum.metrics.keywords
boxes: Any = content_baselines
terms: Any = keyword_baselines

REFUSED: list[tuple[Any, str]] = [
    (lambda: keywords.keyword_best([["a"]], []), "annotations has 1 images"),
    (lambda: keywords.keyword_best(["dog"], [{"dog": 1}]), "annotations[0] is a str"),
    (lambda: keywords.keyword_best([{"dog"}], [{"dog": 1}]), "annotations[0] is a set"),
    (lambda: keywords.keyword_best([[], [3]], [{}, {}]), "annotations"),
    (lambda: keywords.keyword_best([["a"]], [["a"]]), "gold[0] is a list"),
    (lambda: keywords.keyword_best([["a"]], [{"a": 0}]), "gold[0] is {'a': 0}"),
    (lambda: keywords.keyword_best([["a"]], [{"a": 1.5}]), "gold[0] is {'a': 1.5}"),
    (lambda: keywords.keyword_best([["a"], ["b"]], [{"a": 1}, {2: 1}]), "gold[1] is {2: 1}"),
    (lambda: keywords.keyword_f1([["a"]], ["a"]), "gold[0] is a str"),
    (lambda: keywords.keyword_f1([["a"]], [5]), "gold[0] is a int"),
    (lambda: keywords.keyword_oot([["a"]], [{"a": 1}], guesses=0), "guesses is 0"),
    (lambda: keywords.keyword_oot([["a"]], [{"a": 1}], guesses=2.5), "guesses is 2.5"),
    (lambda: keywords.keyword_oot_mode([["a"]], [{"a": 1}], modes=[]), "modes has 0 images"),
    (
        lambda: keywords.keyword_best_mode([["a"], ["b"]], [{"a": 1}, {"b": 1}], modes=["a", 2]),
        "modes[1] is a int",
    ),
    (lambda: keywords.keyword_oot([["a"]], [{"a": 1}], duplicates="twice"), "unknown duplicates 'twice'"),
    (lambda: keywords.keyword_best(None, [{}]), "annotations is a NoneType"),
    (lambda: keywords.keyword_f1([], []), "gold is empty"),
    (lambda: terms.term_frequency(["a dog"]), "documents[0] is a str"),
    (lambda: terms.term_frequency([["a"], [1]]), "documents"),
    (lambda: terms.term_frequency([["a"]], keywords=0), "keywords is 0"),
    (lambda: terms.tf_idf([["a"]]), "no other document"),
    (lambda: terms.tf_idf([["a"]], training=[]), "no other document"),
    (lambda: terms.tf_idf([["a"]], training=["a"]), "training[0] is a str"),
    (lambda: terms.corpus_frequency([["a"]]), "gold[0] is a list"),
    (lambda: terms.document_title("a"), "titles is a str"),
    (lambda: terms.sentence_extraction(None), "documents is a NoneType"),
    (lambda: terms.document_title(["a"]), "titles[0] is a str"),
    (lambda: terms.sentence_extraction([["a dog"]]), "documents[0][0] is a str"),
    (lambda: terms.sentence_extraction([], smoothing=0), "smoothing is 0"),
    (lambda: terms.sentence_extraction([], smoothing=math.nan), "smoothing is nan"),
    (lambda: keywords.keyword_terms("dog"), "texts is a str"),
    (lambda: keywords.keyword_forms([None]), "keywords holds a NoneType"),
    (lambda: keywords.gold_tags([["dog"]]), "annotations[0][0] is a str"),
    (lambda: keywords.frequent_words([["a"]], least=0), "least is 0"),
    (lambda: keywords.keyword_forms(["a"], stem="snow"), "unknown stem 'snow'"),
    (lambda: content.content_selection([[0]], []), "descriptions is empty"),
    (lambda: content.content_selection([[0]], None), "descriptions is a NoneType"),
    (lambda: content.content_selection("dog", [[[0]]]), "selections is a str"),
    (lambda: content.content_selection([[0]], [[[0]], [[0]]]), "selections has 1 images"),
    (lambda: content.content_selection(["dog"], [[[0]]]), "selections[0] is a str"),
    (lambda: content.content_selection([None], [[[0]]]), "selections[0] is a NoneType"),
    (lambda: content.content_selection([[0]], [[{0: 1}]]), "descriptions[0][0] is a dict"),
    (lambda: content.content_selection([[0]], [7]), "descriptions[0] is a int"),
    (lambda: content.content_selection([[0], [1]], [[[0]], [[0], [1, -2]]]), "descriptions[1][1] holds -2"),
    (lambda: content.content_selection([[0, 1.5]], [[[0]]]), "selections[0] holds 1.5"),
    (lambda: content.content_selection([[True, False]], [[[0]]]), "selections[0] holds True"),
    (lambda: content.content_selection([["0"]], [[[0]]]), "selections[0] holds '0'"),
    (lambda: content.content_selection([[2**31]], [[[0]]]), "selections[0] holds 2147483648"),
    (lambda: content.content_selection([[10**30]], [[[0]]]), "selections[0] holds 1000000"),
    (lambda: boxes.size_ranks([[[0, 0, 1]]]), "0"),
    (lambda: boxes.size_ranks([[0, 0, 1, 1]]), "0"),
    (lambda: boxes.size_ranks([[[0, 0, 1, 1]], [[0, 0, 1, -1]]]), "boxes[1][0] is [0.0, 0.0, 1.0, -1.0]"),
    (lambda: boxes.size_ranks([[[0, math.nan, 1, 1]]]), "expected finite numbers"),
    (lambda: boxes.size_ranks([[[0, 0, 1e300, 1e300]]]), "expected finite numbers"),
    (lambda: boxes.size_ranks([[["a", "0", "1", "1"]]]), "boxes[0]"),
    (lambda: boxes.centre_ranks([[], []], [[1, 1]]), "image_sizes"),
    (lambda: boxes.centre_ranks([[[0, 0, 9, 9]]], [[0, 5]]), "height above"),
    (lambda: boxes.random_ranks([1, -1], seed=0), "counts is no list"),
    (lambda: boxes.random_ranks([1.5], seed=0), "counts is no list"),
    (lambda: boxes.random_ranks([1], seed=-1), "seed is -1"),
    (lambda: boxes.random_ranks([1], seed=None), "seed is None"),
    (lambda: boxes.unigram_ranks(["dog"], boxes.UnigramPrior.fit([])), "labels[0] is a str"),
    (lambda: boxes.UnigramPrior.fit([["a"], [3]]), "mentions"),
    (lambda: boxes.BigramPrior.fit([{"a"}]), "mentions[0] is a set"),
    (lambda: boxes.bigram_ranks([["a"]], boxes.UnigramPrior.fit([["a"]])), "prior is a UnigramPrior"),
    (lambda: boxes.random_ranks(3, seed=1), "counts is a int"),
    (lambda: boxes.mentions_of([["a"]], []), "descriptions has 0 images"),
    (lambda: boxes.mentions_of([["a"]], [[[1]]]), "0"),
    (lambda: boxes.mentions_of([["a"]], [[{0}]]), "descriptions[0][0] is a set"),
    (
        lambda: boxes.mean_ranks(boxes.size_ranks([[[0, 0, 9, 9]]]), boxes.size_ranks([[]])),
        "different",
    ),
    (lambda: boxes.size_ranks([[[0, 0, 9, 9]]]).selections(0), "k"),
    (lambda: boxes.size_ranks([[[0, 0, 9, 9]]]).selections(True), "k is True"),
    (
        lambda: content.content_selection([[0]], [[[0]]], empty="zeros"),
        "zeros",
    ),
]


@pytest.mark.parametrize(("call", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_it_is_refused_in_a_sentence(call: Any, says: str) -> None:
    with pytest.raises((InvalidInput, UnknownName), match=re.escape(says)):
        call()
