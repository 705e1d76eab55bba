"""Baselines for keywords, which annotate an image from the text around it (Mason, Charniak 2012, MC12, section 4).

Documents are lists of terms (`keyword_terms`). `keywords` limits the number of keywords of an image; only words of a
given `vocabulary` can be keywords. Terms with equal weights keep the order of the document, or of the alphabet for
`corpus_frequency` and `topic_words`. A term that occurs in no training document is weighted as if it occurred in one.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Real

import numpy as np
import scipy  # its submodules load at first use

from quorum.metrics.inputs import InvalidInput, check_collection, check_lists_of, checked_count
from quorum.metrics.keywords import DEFAULT_GUESSES, Tags, Vocabulary, check_gold, evaluation_fields
from quorum.metrics.signatures import measure_signature
from quorum.metrics.topics import fit_topics
from quorum.numeric.arrays import Floats
from quorum.numeric.signatures import Value, placeholder_of_texts

Terms = Sequence[str]
SMOOTHING = 0.01  # added to the count of each word of a sentence
TOPICS = 20  # topics of the model behind `topic_words`
MAX_SMOOTHING = 1000.0
_WeightedTerms = list[tuple[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class KeywordList:
    """The keywords that a baseline gives to each image.

    annotations: for each image, its keywords, best first. weights: for each image, the (keywords,) weights of its
    keywords; nan for titles and sentences. sentence_positions: for `sentence_extraction`, the position of each image's
    extracted sentence in its document, -1 for none. empty: number of images without keywords. reason: this number in
    words, and that the topic model did not converge; "" if neither is so.
    """

    annotations: tuple[tuple[str, ...], ...]
    weights: tuple[Floats, ...]
    sentence_positions: tuple[int, ...]
    empty: int
    reason: str
    signature: str


def term_frequency(
    documents: Sequence[Terms], *, keywords: int | None = DEFAULT_GUESSES, vocabulary: Vocabulary = None
) -> KeywordList:
    """Return the most frequent terms of each document (MC12 section 4.1)."""
    selection = _KeywordOptions.from_options(keywords, vocabulary)
    lists = []
    for counts in _count_terms(documents, "documents"):
        size = counts.total()
        best_terms = selection.allowed_terms(counts).most_common(selection.keywords)
        lists.append([(term, count / size) for term, count in best_terms])
    return _make_list(lists, measure_signature("keyword-tf", **selection.fields))


def tf_idf(
    documents: Sequence[Terms],
    *,
    training: Iterable[Terms] | None = None,
    keywords: int | None = DEFAULT_GUESSES,
    vocabulary: Vocabulary = None,
) -> KeywordList:
    """Return the terms with the highest tf * log(N / n_i), where n_i of N documents contain term i (MC12 section 4.2).

    Document frequencies are counted in `training`, by default in all other documents (the paper's footnote 7). Raise
    InvalidInput if there are no other documents.
    """
    selection = _KeywordOptions.from_options(keywords, vocabulary)
    term_counts = _count_terms(documents, "documents")
    training_counts, training_name = term_counts, None
    if training is not None:
        training = list(training)
        training_counts, training_name = _count_terms(training, "training"), _training_field(training)
    # Without training documents, a document is among its own training documents. Subtract it from the counts.
    document_itself = int(training is None)
    frequencies = Counter(chain.from_iterable(training_counts))
    document_count = len(training_counts) - document_itself
    if document_count < 1:
        raise InvalidInput(
            "there is no other document, expected training documents or two documents at least"
        )
    lists = []
    for counts in term_counts:
        size = counts.total()
        weighted_terms = [
            (term, count / size * math.log(document_count / max(frequencies[term] - document_itself, 1)))
            for term, count in selection.allowed_terms(counts).items()
        ]
        # The sort is stable: terms with equal weights keep the order of the document.
        weighted_terms.sort(key=lambda entry: -entry[1])
        lists.append(weighted_terms[: selection.keywords])
    return _make_list(lists, measure_signature("keyword-tf-idf", **selection.fields, training=training_name))


def corpus_frequency(
    gold: Sequence[Tags],
    *,
    training: Iterable[Terms] | None = None,
    keywords: int | None = DEFAULT_GUESSES,
    vocabulary: Vocabulary = None,
) -> KeywordList:
    """Return the most frequent terms of `training`, by default of the tags of all other images (MC12 section 4.3)."""
    selection = _KeywordOptions.from_options(keywords, vocabulary)
    check_gold(gold)
    total: Counter[str] = Counter()
    if training is not None:
        training = list(training)
        for counts in _count_terms(training, "training"):
            total.update(counts)
        ranking = sorted(selection.allowed_terms(total).items(), key=_by_count_and_name)
        same_keywords = [(tag, float(count)) for tag, count in ranking[: selection.keywords]]
        signature = measure_signature(
            "keyword-corpus", **selection.fields, training=_training_field(training)
        )
        return _make_list([same_keywords] * len(gold), signature)
    for tags in gold:
        total.update(tags)
    ranking = sorted(selection.allowed_terms(total).items(), key=_by_count_and_name)
    lists = []
    for tags in gold:
        # Leaving out the image lowers only the counts of its tags. So its keywords are among the first `keywords` tags
        # of all images, and as many further ones as the image has tags.
        candidates = ranking if selection.keywords is None else ranking[: selection.keywords + len(tags)]
        counts_left = [(tag, count - tags.get(tag, 0)) for tag, count in candidates]
        counts_left = sorted((entry for entry in counts_left if entry[1] > 0), key=_by_count_and_name)
        lists.append([(tag, float(count)) for tag, count in counts_left[: selection.keywords]])
    return _make_list(lists, measure_signature("keyword-corpus", **selection.fields, training=None))


def document_title(
    titles: Sequence[Terms], *, keywords: int | None = None, vocabulary: Vocabulary = None
) -> KeywordList:
    """Return the distinct terms of each title in order (MC12 section 4.4)."""
    selection = _KeywordOptions.from_options(keywords, vocabulary)
    check_lists_of(titles, "titles", "terms")
    return _make_list(
        [selection.weightless_terms(title) for title in titles],
        measure_signature("keyword-title", **selection.fields),
    )


def sentence_extraction(
    documents: Sequence[Sequence[Terms]],
    *,
    keywords: int | None = None,
    vocabulary: Vocabulary = None,
    smoothing: float = SMOOTHING,
) -> KeywordList:
    """Return the terms of the sentence with the smallest KL divergence from its document (MC12 section 4.5).

    documents[i] are the sentences of document i, each a list of terms. As in KLSum (Haghighi, Vanderwende 2009), the
    sentence S is the first with the smallest KL(P_D || P_S), where P_D(w) is the share of word w in the document D, and
    P_S(w) = (c_S(w) + a) / (|S| + a V), with c_S(w) the count of w in the sentence, |S| its number of words, V the
    number of different words in the document, and a = `smoothing`. If there is a `vocabulary`, only its words count.
    """
    selection = _KeywordOptions.from_options(keywords, vocabulary)
    if isinstance(smoothing, bool) or not isinstance(smoothing, Real) or not 0 < smoothing <= MAX_SMOOTHING:
        raise InvalidInput(f"smoothing is {smoothing!r}, expected a number above 0, up to {MAX_SMOOTHING:g}")
    check_collection(documents, "documents", "a list of sentences for each document")
    lists, sentence_positions = [], []
    for position, document in enumerate(documents):
        check_lists_of(document, f"documents[{position}]", "terms")
        sentences = [selection.filter_terms(sentence) for sentence in document]
        position_of_best = _closest_sentence(sentences, float(smoothing))
        sentence_positions.append(position_of_best)
        lists.append(selection.weightless_terms(sentences[position_of_best]) if position_of_best >= 0 else [])
    signature = measure_signature("keyword-sentence", **selection.fields, smoothing=float(smoothing))
    return _make_list(lists, signature, tuple(sentence_positions))


def topic_words(
    documents: Sequence[Terms],
    *,
    training: Iterable[Terms] | None = None,
    topics: int = TOPICS,
    keywords: int | None = DEFAULT_GUESSES,
    vocabulary: Vocabulary = None,
    seed: int = 0,
) -> KeywordList:
    """Return the terms with the highest p(w | d) by a topic model: the Text LDA of MC12 section 5.1.

    p(w | d) is the sum over topics of p(topic | d) p(w | topic). The model is fitted to `training`, by default to
    the documents themselves. A document that has no term of the model has no keywords. The paper does not print its
    settings: the number of topics, the seed, and the priors, 1 / topics, are Quorum's choice.
    """
    selection = _KeywordOptions.from_options(keywords, vocabulary)
    topics = checked_count(topics, "topics")
    term_counts = [selection.allowed_terms(counts) for counts in _count_terms(documents, "documents")]
    training_counts, training_name = term_counts, None
    if training is not None:
        training = list(training)
        training_counts = [selection.allowed_terms(counts) for counts in _count_terms(training, "training")]
        training_name = _training_field(training)
    terms = sorted(set(chain.from_iterable(training_counts)))
    lists: list[_WeightedTerms] = [[] for _ in term_counts]
    reason = ""
    if terms:
        table = _count_table(term_counts, terms)
        model = fit_topics(_count_table(training_counts, terms), topics, prior=1 / topics, seed=seed)
        word_probabilities, topic_shares = model.word_probabilities(), model.topic_shares(table)
        for position in np.flatnonzero(table.sum(axis=1)).tolist():
            weights = topic_shares[position] @ word_probabilities
            # The sort is stable: terms with equal weights keep the order of the alphabet.
            best_columns = np.argsort(-weights, kind="stable")[: selection.keywords].tolist()
            lists[position] = [(terms[column], float(weights[column])) for column in best_columns]
        reason = "" if model.converged else f"topics did not converge in {model.sweeps} sweeps"
    baseline = _make_list(
        lists,
        measure_signature(
            "keyword-lda", **selection.fields, training=training_name, topics=topics, seed=seed
        ),
    )
    return replace(baseline, reason="; ".join(filter(None, (baseline.reason, reason))))


def _count_table(term_counts: Sequence[Counter[str]], terms: Sequence[str]) -> "scipy.sparse.csr_array":
    """Return the (documents, terms) counts of the given terms."""
    column_by_term = {term: number for number, term in enumerate(terms)}
    cells = [
        (row, column_by_term[term], count)
        for row, counts in enumerate(term_counts)
        for term, count in counts.items()
        if term in column_by_term
    ]
    rows, columns, values = np.array(cells, dtype=np.int64).reshape(-1, 3).T
    return scipy.sparse.csr_array(
        (values.astype(np.float64), (rows, columns)), shape=(len(term_counts), len(terms))
    )


@dataclass(frozen=True, slots=True)
class _KeywordOptions:
    """The checked options that select keywords.

    keywords: the largest number of keywords, or None. vocabulary: the words that can be keywords, or None for all.
    fields: both options as fields of the signature.
    """

    keywords: int | None
    vocabulary: frozenset[str] | None
    fields: Mapping[str, Value]

    @classmethod
    def from_options(cls, keywords: int | None, vocabulary: Vocabulary) -> "_KeywordOptions":
        count = None if keywords is None else checked_count(keywords, "keywords")
        words = None if vocabulary is None else frozenset(vocabulary)
        return cls(count, words, {"keywords": count, **evaluation_fields(words)})

    def allowed_terms(self, counts: Counter[str]) -> Counter[str]:
        vocabulary = self.vocabulary
        if vocabulary is None:
            return counts
        return Counter({term: count for term, count in counts.items() if term in vocabulary})

    def filter_terms(self, terms: Terms) -> list[str]:
        vocabulary = self.vocabulary
        return [term for term in terms if vocabulary is None or term in vocabulary]

    def weightless_terms(self, terms: Terms) -> "_WeightedTerms":
        """Return the different terms that can be keywords, in order, with weights nan."""
        return [(term, math.nan) for term in dict.fromkeys(self.filter_terms(terms))][: self.keywords]


def _by_count_and_name(entry: tuple[str, int]) -> tuple[int, str]:
    """Return the sort key of a term with its count: the highest count first, then the alphabet."""
    term, count = entry
    return -count, term


def _closest_sentence(sentences: Sequence[Terms], smoothing: float) -> int:
    """Return the position of the first sentence with the smallest divergence, or -1 if all sentences are empty."""
    # The divergence KL(P_D || P_S) of the sentence S from the document D is smallest where sum_w P_D(w) log P_S(w) is
    # largest. With c(w) occurrences of w in S, log P_S(w) is log(c(w) + smoothing) minus a term that does not depend on
    # w. If c(w) = 0, it is log(smoothing) minus this term. So sum, only over the words of S, how much larger it is than
    # that, and leave out log(smoothing), which is the same for all sentences.
    document = Counter(chain.from_iterable(sentences))
    size, distinct_words = document.total(), len(document)
    best_position, best_likelihood = -1, -math.inf
    for index, sentence in enumerate(sentences):
        if not sentence:
            continue
        gain = math.fsum(
            document[term] / size * (math.log(count + smoothing) - math.log(smoothing))
            for term, count in Counter(sentence).items()
        )
        likelihood = gain - math.log(len(sentence) + smoothing * distinct_words)
        if likelihood > best_likelihood:
            best_position, best_likelihood = index, likelihood
    return best_position


def _make_list(
    lists: Sequence[_WeightedTerms], signature: str, sentence_positions: tuple[int, ...] = ()
) -> KeywordList:
    weights = []
    for entries in lists:
        values = np.array([weight for _, weight in entries], dtype=np.float64)
        values.flags.writeable = False
        weights.append(values)
    empty_count = sum(not entries for entries in lists)
    return KeywordList(
        tuple(tuple(term for term, _ in entries) for entries in lists),
        tuple(weights),
        sentence_positions,
        empty_count,
        f"images without a keyword to take: {empty_count}" if empty_count else "",
        signature,
    )


def _training_field(documents: Sequence[Terms]) -> str:
    """Return a name of the training documents for signatures, which does not depend on their order."""
    return placeholder_of_texts(sorted(map(list, documents)))


def _count_terms(documents: Sequence[Terms], argument: str) -> list[Counter[str]]:
    check_lists_of(documents, argument, "terms")
    return [Counter(document) for document in documents]


# The functions by the names in their signatures.
CALLS: dict[str, Callable[..., KeywordList]] = {
    "keyword-tf": term_frequency,
    "keyword-tf-idf": tf_idf,
    "keyword-corpus": corpus_frequency,
    "keyword-title": document_title,
    "keyword-sentence": sentence_extraction,
    "keyword-lda": topic_words,
}
