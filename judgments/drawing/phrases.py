"""The words of a text that stands with an image, and the runs of words that are offered as collocations (MC12 §3.2).

A word is what stands between blanks, without the punctuation at its edges; capitals and the shape of apostrophes do
not matter. The page's script tells words apart by the same rules (static/js/kinds/keywords.js), so that a keyword it
takes is one the server takes. Pure functions.

MC12's annotators typed single words and ticked collocations: n-grams of the text, n <= 7, that are titles of Wikipedia
articles. Which titles a study knows is part of its design (``known_titles`` finds those that occur in its texts).
Without titles, n-grams that are frequent are offered, which is ours and not the paper's: such as stand twice in the
text or in several texts of the dataset, within a clause, with no stop word at either end.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np

SHORTEST, LONGEST = 2, 7  # words of a collocation; MC12: n <= 7
TWICE = 2  # occurrences in a text, or texts of the dataset, that make an n-gram frequent
MOST_OFFERED = 40
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-"})
_CLAUSE_ENDS = frozenset('.,;:!?…()[]{}"“”«»—–|')
TITLES_AT_ONCE = 100_000


def plain(text: str) -> str:
    """``text`` as words are compared: composed, in lower case, with plain apostrophes and hyphens."""
    return unicodedata.normalize("NFC", text).translate(_APOSTROPHES).lower()


@lru_cache(maxsize=16_384)
def _is_edge(letter: str) -> bool:
    """Whether it is punctuation: neither letter, mark nor digit."""
    return unicodedata.category(letter)[0] not in "LMN"


def trimmed(word: str) -> str:
    """``word`` without the punctuation at its edges; '' where nothing else is left."""
    if word.isalnum():
        return word
    start, end = 0, len(word)
    while start < end and _is_edge(word[start]):
        start += 1
    while end > start and _is_edge(word[end - 1]):
        end -= 1
    return word[start:end]


def words_of(text: str) -> list[str]:
    """The words of a text in order, in the form in which they are compared."""
    return [word for token in plain(text).split() if (word := trimmed(token))]


def parts_of(word: str) -> list[str]:
    """The words inside a word: of "well-known" also "well" and "known", of "london's" also "london"."""
    parts = [part for piece in word.replace("/", "-").split("-") if (part := trimmed(piece))]
    owners = [part[:-2] for part in (word, *parts) if part.endswith("'s") and len(part) > 2]
    return [part for part in dict.fromkeys((*parts, *owners)) if part != word]


def vocabulary(text: str) -> dict[str, None]:
    """Everything that is a word of the text or stands inside one, in order."""
    found: dict[str, None] = {}
    for word in words_of(text):
        for form in (word, *parts_of(word)):
            found.setdefault(form)
    return found


def spoken(text: str) -> list[str]:
    """The words of a text as they are written there, one for each of ``words_of``."""
    return [word for token in unicodedata.normalize("NFC", text).split() if (word := trimmed(token))]


def phrase(text: str) -> str:
    """A phrase as phrases are compared: its words with one blank between them."""
    return " ".join(words_of(text))


def clauses(text: str) -> Iterator[list[str]]:
    """The words of a text, cut where punctuation ends a clause."""
    clause: list[str] = []
    for token in plain(text).split():
        word = trimmed(token)
        before, _, behind = token.partition(word) if word else ("", "", "")
        if not word or _CLAUSE_ENDS.intersection(before):
            if clause:
                yield clause
            clause = []
        if word:
            clause.append(word)
            if _CLAUSE_ENDS.intersection(behind) and not _abbreviates(word, behind):
                yield clause
                clause = []
    if clause:
        yield clause


def _abbreviates(word: str, behind: str) -> bool:
    """A full stop behind an initial or inside "u.s." ends no clause."""
    return behind == "." and (len(word) == 1 or "." in word)


def ngrams(words: Sequence[str], longest: int = LONGEST) -> Iterator[tuple[str, int]]:
    """Every run of ``SHORTEST`` to ``longest`` words, with the place of its first."""
    for start in range(len(words)):
        for end in range(start + SHORTEST, min(start + longest, len(words)) + 1):
            yield " ".join(words[start:end]), start


def titled(text: str, titles: Collection[str], longest: int = LONGEST) -> list[str]:
    """The runs of words of ``text`` that are among ``titles`` (in the form of ``phrase``), where they first stand."""
    return list(dict.fromkeys(gram for gram, _ in ngrams(words_of(text), longest) if gram in titles))


def as_written(text: str, grams: Sequence[str]) -> list[str]:
    """Runs of words of ``text`` in the form in which they first stand there, capitals and all."""
    words, written = words_of(text), spoken(text)
    first: dict[str, int] = {}
    for gram, start in ngrams(words):
        first.setdefault(gram, start)
    return [" ".join(written[first[gram] : first[gram] + gram.count(" ") + 1]) for gram in grams]


def spread_of(texts: Iterable[str], stop_words: Collection[str], longest: int = LONGEST) -> Counter[str]:
    """In how many texts each run of words stands that could be offered; runs of a single text are left out."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({gram for gram, _ in _candidates(text, stop_words, longest)})
    return Counter({gram: n for gram, n in counts.items() if n >= TWICE})


def frequent(
    text: str,
    spread: Counter[str],
    stop_words: Collection[str],
    longest: int = LONGEST,
    most: int = MOST_OFFERED,
) -> list[str]:
    """The frequent runs of words of ``text``: those that stand twice in it, or in several texts of the dataset.

    A run inside a longer one that stands as often is left out. Of too many the most frequent are kept, in the order
    of the text.
    """
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    for place, (gram, _) in enumerate(_candidates(text, stop_words, longest)):
        counts[gram] += 1
        first.setdefault(gram, place)
    kept = [gram for gram in counts if counts[gram] >= TWICE or spread[gram] >= TWICE]
    inside = {
        (shorter, counts[gram], spread[gram]) for gram in kept for shorter, _ in ngrams(gram.split(), longest)
        if shorter != gram
    }  # fmt: skip
    whole = [gram for gram in kept if (gram, counts[gram], spread[gram]) not in inside]
    whole.sort(key=lambda gram: (-counts[gram], -spread[gram], first[gram]))
    return sorted(whole[:most], key=first.__getitem__)


def _candidates(text: str, stop_words: Collection[str], longest: int) -> Iterator[tuple[str, int]]:
    for clause in clauses(text):
        for gram, start in ngrams(clause, longest):
            if clause[start] not in stop_words and gram.rpartition(" ")[2] not in stop_words:
                yield gram, start


def known_titles(
    titles: Iterable[str],
    texts: Iterable[str],
    *,
    longest: int = LONGEST,
    progress: Callable[[int], None] = lambda read: None,
) -> list[str]:
    """Those of ``titles`` whose words stand one behind the other in one of ``texts``, sorted, each once.

    Streams ``titles`` (Wikipedia has millions): in memory are eight bytes for each run of words of the texts, and
    what is found. Underscores count as blanks, as in Wikipedia's own lists.

    Args:
        progress: told how many titles were read, now and then.
    """
    runs = np.unique(
        np.fromiter((hash(gram) for text in texts for gram, _ in ngrams(words_of(text), longest)), np.int64)
    )
    found: set[str] = set()
    read = 0
    stream = iter(titles)
    while batch := list(islice(stream, TITLES_AT_ONCE)):
        phrases = [" ".join(words_of(title.replace("_", " "))) for title in batch]
        hashes = np.array([hash(one) for one in phrases], dtype=np.int64)
        places = np.searchsorted(runs, hashes)
        places[places == len(runs)] = 0
        there = runs[places] == hashes if len(runs) else np.zeros(len(hashes), dtype=bool)
        # a hash of another run would let one title too many in, which no text would offer
        found.update(one for one, hit in zip(phrases, there.tolist(), strict=True) if hit)
        read += len(batch)
        progress(read)
    return sorted(found)
