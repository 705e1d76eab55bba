"""The words that METEOR matches with each other: equal words, words with one stem, synonyms."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorum.metrics.meteor.tables import Synonyms
from quorum.metrics.text.snowball import snowball_stems
from quorum.metrics.text.tokens import ranges
from quorum.numeric.arrays import Ints, Numbers, starts_of

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
STAGES = ("exact", "stem", "synonym", "paraphrase")
ALL = "all"  # every stage whose tables are installed

# Each stage needs the stages before it, so the number of stages says which they are.
STAGE_CHOICES = tuple("-".join(STAGES[: count + 1]) for count in range(len(STAGES)))

# WordNet's rules for the basic form of a noun, a verb, an adjective (Princeton University, WordNet 3.0): the first
# replacement that gives an entry of WordNet counts.
# fmt: off
_ENDINGS = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ("er", ""), ("est", ""), ("er", "e"), ("est", "e"),
)
# fmt: on
_MAX_SHORT_LENGTH = 2  # letters; words of up to this length have no other basic form


class Relations(NamedTuple):
    """The words that each word matches.

    Word w matches `tokens[starts[w]:starts[w + 1]]`, itself included, at `stages`.
    """

    starts: Ints
    tokens: Numbers
    stages: NDArray[np.int8]


class _Matches(NamedTuple):
    """Pairs of words, by their positions in the vocabulary, that match at one stage."""

    words: Ints
    matches: Ints
    stage: int


def relations(vocabulary: Sequence[str], stages: int, synonyms: Synonyms | None) -> Relations:
    """Return the relations of a vocabulary's words at the first `stages`. Without `synonyms`, no synonyms match."""
    positions = np.arange(len(vocabulary))
    related = [_Matches(positions, positions, EXACT)]
    if stages > STEM:
        stem_numbers: dict[str, int] = {}
        stem_of = [stem_numbers.setdefault(stem, len(stem_numbers)) for stem in snowball_stems(vocabulary)]
        related.append(_Matches(*_pairs_sharing_set(positions, np.array(stem_of, dtype=np.int64)), STEM))
    if stages > SYNONYM and synonyms is not None:
        related.append(_Matches(*_pairs_sharing_set(*_synonym_sets(vocabulary, synonyms)), SYNONYM))
    words = np.concatenate([pairs.words for pairs in related])
    order = np.argsort(words, kind="stable")
    tokens = np.concatenate([pairs.matches for pairs in related])[order].astype(np.int32)
    stage_of_match = np.concatenate(
        [np.full(pairs.words.size, pairs.stage, dtype=np.int8) for pairs in related]
    )[order]
    counts = np.bincount(words, minlength=len(vocabulary))
    return Relations(starts_of(counts), tokens, stage_of_match)


def _pairs_sharing_set(tokens: Ints, sets: Ints) -> tuple[Ints, Ints]:
    """Return the distinct pairs of different tokens that are in the same set. Token k is in set `sets[k]`."""
    order = np.argsort(sets, kind="stable")
    tokens, sets = tokens[order], sets[order]
    first = np.flatnonzero(np.diff(sets, prepend=-1))
    sizes = np.diff(first, append=sets.size)
    # Pair each token with all tokens of its set.
    partner_counts = np.repeat(sizes, sizes)
    left = np.repeat(tokens, partner_counts)
    right = tokens[ranges(np.repeat(first, sizes), partner_counts)]
    differ = left != right
    return _distinct_pairs(left[differ], right[differ])


def _distinct_pairs(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return the distinct pairs, ascending. All numbers are below 2 ** 31, so that a pair fits into one number."""
    pairs = np.unique((left << 31) | right)
    return pairs >> 31, pairs & ((1 << 31) - 1)


def _synonym_sets(vocabulary: Sequence[str], synonyms: Synonyms) -> tuple[Ints, Ints]:
    """Return the pairs of a word's position and the number of a set of synonyms that the word is in."""
    tokens, entries = [], []
    for number, word in enumerate(vocabulary):
        for word_entry in _entries(word, synonyms):
            tokens.append(number)
            entries.append(word_entry)
    entry = np.array(entries, dtype=np.int64)
    counts = synonyms.starts[entry + 1] - synonyms.starts[entry]
    sets = synonyms.sets[ranges(synonyms.starts[entry], counts)].astype(np.int64)
    return _distinct_pairs(np.repeat(np.array(tokens, dtype=np.int64), counts), sets)


def _entries(word: str, synonyms: Synonyms) -> Iterator[int]:
    """Return the entries of WordNet for a word and its basic forms, by form."""
    entries = synonyms.entries
    forms = {word, *synonyms.bases.get(word, ())}
    if word not in synonyms.bases and len(word) > _MAX_SHORT_LENGTH and not word.endswith("ss"):
        for ending, replacement in _ENDINGS:
            form = word.removesuffix(ending) + replacement
            if word.endswith(ending) and form in entries:
                forms.add(form)
                break
    return (entries[form] for form in sorted(forms) if form in entries)
