"""The words of a vocabulary that METEOR matches with each other: equal words, words with one stem, synonyms.

These are the first three of METEOR's stages. The matches of each word are found before texts are aligned.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorum.metrics.meteor.tables import Synonyms
from quorum.metrics.text.snowball import snowball_stems
from quorum.numeric.arrays import Ints, Numbers, joined_ranges, starts_of

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
STAGES = ("exact", "stem", "synonym", "paraphrase")
ALL = "all"  # every stage whose tables are installed

# Each stage needs the stages before it, so the number of stages says which they are: "exact", "exact-stem", ...
STAGE_CHOICES = tuple("-".join(STAGES[: last + 1]) for last in range(len(STAGES)))

# WordNet's rules for the basic form of a noun, a verb, an adjective (Princeton University, WordNet 3.0): the first
# replacement that gives an entry of WordNet counts.
# fmt: off
_ENDINGS = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ("er", ""), ("est", ""), ("er", "e"), ("est", "e"),
)
# fmt: on
_MAX_UNCHANGED_LENGTH = 2  # letters; words of up to this length have no other basic form


class WordRelations(NamedTuple):
    """The words that each word of a vocabulary matches.

    Word w matches `tokens[starts[w]:starts[w + 1]]`, itself included; `stages` has the stage of each match.
    """

    starts: Ints
    tokens: Numbers
    stages: NDArray[np.int8]


class _MatchingWords(NamedTuple):
    """Pairs of words, by their positions in the vocabulary, that match at one stage."""

    words: Ints
    partners: Ints
    stage: int


def relate_words(vocabulary: Sequence[str], stage_count: int, synonyms: Synonyms | None) -> WordRelations:
    """Return the words that match at the first `stage_count` stages. Without `synonyms`, no synonyms match."""
    positions = np.arange(len(vocabulary))
    matches_by_stage = [_MatchingWords(positions, positions, EXACT)]
    if stage_count > STEM:
        number_by_stem: dict[str, int] = {}
        stem_of = np.array(
            [number_by_stem.setdefault(stem, len(number_by_stem)) for stem in snowball_stems(vocabulary)],
            dtype=np.int64,
        )
        matches_by_stage.append(_MatchingWords(*_pairs_sharing_set(positions, stem_of), STEM))
    if stage_count > SYNONYM and synonyms is not None:
        synonym_pairs = _pairs_sharing_set(*_synonym_sets(vocabulary, synonyms))
        matches_by_stage.append(_MatchingWords(*synonym_pairs, SYNONYM))
    words = np.concatenate([pairs.words for pairs in matches_by_stage])
    order = np.argsort(words, kind="stable")
    partners = np.concatenate([pairs.partners for pairs in matches_by_stage])[order].astype(np.int32)
    stages = np.concatenate(
        [np.full(pairs.words.size, pairs.stage, dtype=np.int8) for pairs in matches_by_stage]
    )[order]
    counts = np.bincount(words, minlength=len(vocabulary))
    return WordRelations(starts_of(counts), partners, stages)


def _pairs_sharing_set(tokens: Ints, sets: Ints) -> tuple[Ints, Ints]:
    """Return the distinct pairs of different tokens that are in the same set. `tokens[k]` is in set `sets[k]`."""
    order = np.argsort(sets, kind="stable")
    tokens, sets = tokens[order], sets[order]
    first_of_set = np.flatnonzero(np.diff(sets, prepend=-1))
    sizes = np.diff(first_of_set, append=sets.size)
    # Pair each token with all tokens of its set.
    partner_counts = np.repeat(sizes, sizes)
    first_tokens = np.repeat(tokens, partner_counts)
    second_tokens = tokens[joined_ranges(np.repeat(first_of_set, sizes), partner_counts)]
    are_different = first_tokens != second_tokens
    return _distinct_pairs(first_tokens[are_different], second_tokens[are_different])


def _distinct_pairs(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Return the distinct pairs, ascending. All numbers are below 2 ** 31, so that a pair fits into one number."""
    pairs = np.unique((first << 31) | second)
    return pairs >> 31, pairs & ((1 << 31) - 1)


def _synonym_sets(vocabulary: Sequence[str], synonyms: Synonyms) -> tuple[Ints, Ints]:
    """Return the pairs of a word's position and the number of a set of synonyms that the word is in."""
    tokens_with_entry, entry_list = [], []
    for token, word in enumerate(vocabulary):
        for entry in _entries(word, synonyms):
            tokens_with_entry.append(token)
            entry_list.append(entry)
    entries = np.array(entry_list, dtype=np.int64)
    set_counts = synonyms.starts[entries + 1] - synonyms.starts[entries]
    sets = synonyms.sets[joined_ranges(synonyms.starts[entries], set_counts)].astype(np.int64)
    return _distinct_pairs(np.repeat(np.array(tokens_with_entry, dtype=np.int64), set_counts), sets)


def _entries(word: str, synonyms: Synonyms) -> Iterator[int]:
    """Yield WordNet's entries for a word and its basic forms, sorted by form; `bases` has those of irregular words."""
    entries = synonyms.entries
    forms = {word, *synonyms.bases.get(word, ())}
    if word not in synonyms.bases and len(word) > _MAX_UNCHANGED_LENGTH and not word.endswith("ss"):
        for ending, replacement in _ENDINGS:
            form = word.removesuffix(ending) + replacement
            if word.endswith(ending) and form in entries:
                forms.add(form)
                break
    return (entries[form] for form in sorted(forms) if form in entries)
