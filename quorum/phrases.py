"""The words of a text, and n-grams of words that are offered as collocations (Mason, Charniak 2012, MC12, §3.2).

A word is a token between blanks, without punctuation at its edges. Case and the shape of apostrophes are ignored. The
script of the page for keywords applies the same rules (static/js/kinds/keywords.js).

MC12's annotators typed words and ticked collocations: n-grams of the text, n <= 7, that are titles of Wikipedia
articles. ``known_titles`` finds the titles that occur in texts, and ``titles_in`` those of one text. Without titles,
``frequent_phrases`` finds frequent n-grams by Quorum's rule: the n-gram occurs twice in the text or in several texts,
lies within a clause, and has no stop word at either end.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, islice

import numpy as np

MIN_WORDS, MAX_WORDS = 2, 7  # words of a collocation; MC12: n <= 7
MIN_OCCURRENCES = 2  # occurrences in a text, or texts of the dataset, that make an n-gram frequent
MAX_OFFERED = 40  # collocations that are offered for a text
_PLAIN_MARKS = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-"})
_CLAUSE_ENDS = frozenset('.,;:!?…()[]{}"“”«»—–|')
TITLES_PER_BATCH = 100_000


def normalise_text(text: str) -> str:
    """Normalise a text for comparison: NFC, lower case, plain apostrophes and hyphens."""
    return unicodedata.normalize("NFC", text).translate(_PLAIN_MARKS).lower()


@lru_cache(maxsize=16_384)
def _is_edge(letter: str) -> bool:
    return unicodedata.category(letter)[0] not in "LMN"  # letters, their combining marks, numbers


def trim_punctuation(word: str) -> str:
    """Strip punctuation from the edges of a word; return "" if nothing is left."""
    if word.isalnum():
        return word
    start, end = 0, len(word)
    while start < end and _is_edge(word[start]):
        start += 1
    while end > start and _is_edge(word[end - 1]):
        end -= 1
    return word[start:end]


def words_of(text: str) -> list[str]:
    """Return the words of the text, normalised, in order."""
    return [word for token in normalise_text(text).split() if (word := trim_punctuation(token))]


def _parts_of(word: str) -> list[str]:
    """Return the words inside a word: "well" and "known" for "well-known", "london" for "london's"."""
    parts = [part for piece in word.replace("/", "-").split("-") if (part := trim_punctuation(piece))]
    without_genitive = [part[:-2] for part in (word, *parts) if part.endswith("'s") and len(part) > 2]
    return [part for part in dict.fromkeys((*parts, *without_genitive)) if part != word]


def vocabulary(text: str) -> dict[str, None]:
    """Return the words of the text and their parts, without repetition, as the keys of a dict in their order."""
    forms: dict[str, None] = {}
    for word in words_of(text):
        for form in (word, *_parts_of(word)):
            forms.setdefault(form)
    return forms


def spelled_words(text: str) -> list[str]:
    """Return the words of the text as they are spelled, without normalisation of case and apostrophes."""
    return [word for token in unicodedata.normalize("NFC", text).split() if (word := trim_punctuation(token))]


def normalise_phrase(text: str) -> str:
    return " ".join(words_of(text))


def clauses(text: str) -> Iterator[list[str]]:
    """Yield the clauses of a text, which end at punctuation such as commas, as lists of normalised words."""
    clause: list[str] = []
    for token in normalise_text(text).split():
        word = trim_punctuation(token)
        text_before, _, text_after = token.partition(word) if word else ("", "", "")
        if not word or _CLAUSE_ENDS.intersection(text_before):
            if clause:
                yield clause
            clause = []
        if word:
            clause.append(word)
            if _CLAUSE_ENDS.intersection(text_after) and not _is_abbreviation(word, text_after):
                yield clause
                clause = []
    if clause:
        yield clause


def _is_abbreviation(word: str, text_after: str) -> bool:
    """Return whether the full stop after the word belongs to it, as in "e.g." or an initial, and ends no clause."""
    return text_after == "." and (len(word) == 1 or "." in word)


def ngrams(tokens: Sequence[str], longest: int = MAX_WORDS) -> Iterator[tuple[str, int]]:
    """Yield the n-grams of MIN_WORDS to `longest` words, each with the position of its first word."""
    for start in range(len(tokens)):
        for end in range(start + MIN_WORDS, min(start + longest, len(tokens)) + 1):
            yield " ".join(tokens[start:end]), start


def titles_in(text: str, titles: Collection[str], longest: int = MAX_WORDS) -> list[str]:
    """Return the n-grams of ``text`` that are in ``titles``, in order.

    ``titles`` must have been normalised by ``normalise_phrase``.
    """
    return list(dict.fromkeys(gram for gram, _ in ngrams(words_of(text), longest) if gram in titles))


def spellings_of_grams(text: str, grams: Sequence[str]) -> list[str]:
    """Return some n-grams of the text, given in normalised form, as the text spells them where they occur first."""
    tokens, spellings = words_of(text), spelled_words(text)
    starts: dict[str, int] = {}
    for gram, start in ngrams(tokens):
        starts.setdefault(gram, start)
    return [" ".join(spellings[starts[gram] : starts[gram] + gram.count(" ") + 1]) for gram in grams]


def count_texts_by_ngram(
    texts: Iterable[str], stop_words: Collection[str], longest: int = MAX_WORDS
) -> Counter[str]:
    """Return the number of texts that contain each possible collocation, leaving out those of a single text."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({gram for gram, _ in _possible_collocations(text, stop_words, longest)})
    return Counter({gram: n for gram, n in counts.items() if n >= MIN_OCCURRENCES})


def frequent_phrases(
    text: str,
    text_counts: Counter[str],
    stop_words: Collection[str],
    longest: int = MAX_WORDS,
    most: int = MAX_OFFERED,
) -> list[str]:
    """Return the n-grams of ``text`` that occur in it twice, or in several texts, in the order of the text.

    An n-gram inside a longer one that is as frequent is left out. If more than ``most`` remain, the most frequent are
    returned. ``text_counts`` are the counts of ``count_texts_by_ngram``.
    """
    counts: Counter[str] = Counter()
    first_positions: dict[str, int] = {}
    for position, (gram, _) in enumerate(_possible_collocations(text, stop_words, longest)):
        counts[gram] += 1
        first_positions.setdefault(gram, position)
    phrases = [
        gram for gram in counts if counts[gram] >= MIN_OCCURRENCES or text_counts[gram] >= MIN_OCCURRENCES
    ]
    # The n-grams inside each frequent one, with the counts that they must exceed.
    inner_grams: set[tuple[str, int, int]] = set()
    for gram in phrases:
        for inner_gram, _ in ngrams(gram.split(), longest):
            if inner_gram != gram:
                inner_grams.add((inner_gram, counts[gram], text_counts[gram]))
    longest_grams = [gram for gram in phrases if (gram, counts[gram], text_counts[gram]) not in inner_grams]
    longest_grams.sort(key=lambda gram: (-counts[gram], -text_counts[gram], first_positions[gram]))
    return sorted(longest_grams[:most], key=first_positions.__getitem__)


def _possible_collocations(text: str, stop_words: Collection[str], longest: int) -> Iterator[tuple[str, int]]:
    """Yield the n-grams within clauses that have no stop word at either end, with their positions in the clause."""
    for clause in clauses(text):
        for gram, start in ngrams(clause, longest):
            if clause[start] not in stop_words and gram.rpartition(" ")[2] not in stop_words:
                yield gram, start


def known_titles(
    titles: Iterable[str],
    texts: Iterable[str],
    *,
    longest: int = MAX_WORDS,
    progress: Callable[[int], None] = lambda titles_read: None,
) -> list[str]:
    """Return the sorted distinct ``titles`` whose words occur consecutively in one of ``texts``.

    Since Wikipedia has millions of titles, memory holds only eight bytes per n-gram of the texts. Underscores count as
    blanks, as in Wikipedia's lists. ``progress`` is called with the number of titles read so far.
    """
    gram_hashes = np.unique(
        np.fromiter((hash(gram) for text in texts for gram, _ in ngrams(words_of(text), longest)), np.int64)
    )
    titles_found: set[str] = set()
    titles_read = 0
    stream = iter(titles)
    while batch := list(islice(stream, TITLES_PER_BATCH)):
        phrases = [" ".join(words_of(title.replace("_", " "))) for title in batch]
        hashes = np.array([hash(phrase) for phrase in phrases], dtype=np.int64)
        positions = np.searchsorted(gram_hashes, hashes)
        positions[positions == len(gram_hashes)] = 0  # larger than all hashes, so it differs from any
        is_known = gram_hashes[positions] == hashes if len(gram_hashes) else np.zeros(len(hashes), dtype=bool)
        # A hash collision only adds a title that occurs in no text and thus is never offered.
        titles_found.update(compress(phrases, is_known.tolist()))
        titles_read += len(batch)
        progress(titles_read)
    return sorted(titles_found)
