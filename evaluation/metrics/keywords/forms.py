"""Keywords and texts in one form, so that equal meanings match (MC12 section 3).

A keyword is cut into runs of letters and digits, lower-cased and stemmed word by word; one without letters or digits
(an emoji) stays. `stem` is "porter" (Porter's released program), "porter-1980" (his paper) or "none".
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from evaluation.metrics.annotation_signatures import check_collection, whole_count
from evaluation.metrics.errors import InvalidInput, UnknownName
from evaluation.metrics.text import stemming
from evaluation.metrics.text.words import tokenizer_named

LEAST = 5  # MC12: a word that occurs less often in the training articles is infrequent

STEMS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "porter": stemming.porter,
    "porter-1980": stemming.porter_1980,
    "none": list,
}


def keyword_forms(keywords: Sequence[str], *, stem: str = "porter") -> list[str]:
    """Return the form of each keyword or collocation: its words' stems, joined by blanks."""
    check_texts(keywords, "keywords")
    cut, stemmed = tokenizer_named("h13").tokens, _stemmer(stem)
    # By the paper's rules nothing is left of the word "s".
    return [" ".join(filter(None, stemmed(cut(keyword)))) or keyword.strip() for keyword in keywords]


def keyword_terms(
    texts: Sequence[str], *, stem: str = "porter", stop_words: Collection[str] = frozenset()
) -> list[list[str]]:
    """Return the stemmed words of each text in order, without `stop_words` (such as `stemming.smart_stop_words()`)."""
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
    """Return how often each image's annotators gave each tag: R_j (MC12 section 3.2).

    An annotator's repeated keyword counts once. Counts of keywords with one form are added, as in the paper.
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
    """Return the terms that occur `least` times in training documents: the standard vocabulary (MC12 section 3.1)."""
    least = whole_count(least, "least")
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(document)
    return frozenset(word for word, count in counts.items() if count >= least)


def check_texts(texts: Any, where: str) -> None:
    check_collection(texts, where, "a list of texts")
    for text in texts:
        if not isinstance(text, str):
            raise InvalidInput(f"{where} holds a {type(text).__name__}, expected texts")


def _stemmer(name: str) -> Callable[[Sequence[str]], list[str]]:
    if name not in STEMS:
        raise UnknownName("stem", name, STEMS)
    return STEMS[name]
