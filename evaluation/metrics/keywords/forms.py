"""Keywords and texts in one form, so that what means the same is equal (MC12 section 3).

MC12 stems all tokens of one data set (UNT) and merges the gold keywords that share a stem by adding their counts, so
that a count may exceed the number of annotators. Here a keyword or collocation is cut into runs of letters and digits,
lower-cased and stemmed word by word: "Bill Gates" becomes "bill gate". What holds neither letter nor digit (an emoji)
stays as it is. For the other data set (BBC) the paper lemmatises and keeps nouns, adjectives and certain verbs by
TreeTagger, a program of its own: hand in texts that were treated so with `stem="none"`.

Its stop words are MALLET's; the list at hand is the SMART one that comes with ROUGE-1.5.5, of the same origin.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from evaluation.metrics.annotation_signatures import whole_count
from evaluation.metrics.errors import InvalidInput, UnknownName
from evaluation.metrics.text import stemming
from evaluation.metrics.text.tokenizers import tokenizer_named

__all__ = [
    "frequent_words",
    "gold_tags",
    "keyword_forms",
    "keyword_terms",
]

LEAST = 5  # MC12: a word that occurs less often in the training articles is infrequent

STEMS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "porter": stemming.porter,
    "porter-1980": stemming.porter_1980,
    "none": list,
}


def keyword_forms(keywords: Sequence[str], *, stem: str = "porter") -> list[str]:
    """The form of each keyword or collocation: its words' stems with blanks between them.

    `stem` is "porter" (the program that Porter released), "porter-1980" (his paper) or "none". Raises
    InvalidInput, UnknownName.
    """
    check_texts(keywords, "keywords")
    cut, stemmed = tokenizer_named("h13").tokens, _stemmer(stem)
    # By the paper's rules nothing is left of the word "s".
    return [" ".join(filter(None, stemmed(cut(keyword)))) or keyword.strip() for keyword in keywords]


def keyword_terms(
    texts: Sequence[str], *, stem: str = "porter", stop_words: Collection[str] = frozenset()
) -> list[list[str]]:
    """The terms of each text in their order: words without stop words, stemmed as in `keyword_forms`.

    `stop_words` go before stemming (`stemming.smart_stop_words()` is a list); they are compared with
    lower-case words. Texts are documents, titles or sentences.
    """
    check_texts(texts, "texts")
    cut, stemmed = tokenizer_named("h13").tokens, _stemmer(stem)
    dropped = frozenset(stop_words)
    known: dict[str, str] = {}
    found = []
    for text in texts:
        words = [word for word in cut(text) if word not in dropped]
        new = [word for word in words if word not in known]
        known.update(zip(new, stemmed(new), strict=True))
        found.append([form for word in words if (form := known[word])])
    return found


def gold_tags(
    annotations: Sequence[Sequence[Collection[str]]], *, stem: str = "porter"
) -> list[Counter[str]]:
    """The multiset R_j of every image: how often its annotators gave each tag (MC12 section 3.2).

    `annotations` holds for every image the keywords of each annotator; what one annotator gives twice
    counts once. Keywords of one form are merged by adding their counts, as in the paper's gold standard,
    also where they are one annotator's. Blank keywords are no tags.
    """
    found = []
    for image, people in enumerate(annotations):
        tags: Counter[str] = Counter()
        for person, keywords in enumerate(people):
            check_texts(keywords, f"annotations[{image}][{person}]")
            tags.update(filter(None, keyword_forms(list(dict.fromkeys(keywords)), stem=stem)))
        found.append(tags)
    return found


def frequent_words(documents: Iterable[Sequence[str]], *, least: int = LEAST) -> frozenset[str]:
    """The terms that occur at least `least` times in the training documents: the vocabulary of the
    standard evaluation (MC12 section 3.1). `documents` are lists of terms."""
    least = whole_count(least, "least")
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(document)
    return frozenset(word for word, count in counts.items() if count >= least)


def check_texts(texts: Any, where: str) -> None:
    """InvalidInput unless `texts` is a collection of texts; it may be empty."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Collection):
        raise InvalidInput(f"{where} is a {type(texts).__name__}, expected a list of texts")
    for kind in set(map(type, texts)):
        if not issubclass(kind, str):
            raise InvalidInput(f"{where} holds a {kind.__name__}, expected texts")


def _stemmer(name: str) -> Callable[[Sequence[str]], list[str]]:
    if name not in STEMS:
        raise UnknownName("stem", name, STEMS)
    return STEMS[name]
