"""Arrays of numbered words that compiled kernels read, group by group or candidate by candidate.

A group is a list of references together with the candidates that are compared with it. `split_groups` and
`select_groups` divide the work of a kernel, so that several threads can do it.
"""

from typing import NamedTuple

import numpy as np

from quorum.numeric.arrays import Ints, Numbers
from quorum.numeric.packing import declare

TOKENS_PER_PART = 1 << 21  # words of references in one part of the work


@declare  # for `map_parts`, which may send it to other processes; `TextPairs` are never sent
class TextGroups(NamedTuple):
    """Input of a kernel that works group by group. Text t has the words `tokens[starts[t]:starts[t + 1]]`, as numbers.

    Group g has the reference texts `reference_starts[g]` to `reference_starts[g + 1] - 1` and the candidate texts
    `candidates[candidate_starts[g]:candidate_starts[g + 1]]`.
    """

    tokens: Numbers
    starts: Ints
    reference_starts: Ints
    candidates: Ints
    candidate_starts: Ints


def split_groups(groups: TextGroups) -> list[tuple[int, int]]:
    """Return ranges of groups with about TOKENS_PER_PART words of references each, as pairs (first, end)."""
    first_words = groups.starts[groups.reference_starts]  # of each group, and the end of the last one
    limits = np.arange(first_words[0] + TOKENS_PER_PART, first_words[-1], TOKENS_PER_PART)
    bounds = np.unique([0, *np.searchsorted(first_words, limits), first_words.size - 1])
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def select_groups(groups: TextGroups, first: int, end: int) -> TextGroups:
    """Return only the groups first to end - 1."""
    candidate_starts = groups.candidate_starts[first : end + 1]
    return groups._replace(
        reference_starts=groups.reference_starts[first : end + 1],
        candidates=groups.candidates[candidate_starts[0] : candidate_starts[-1]],
        candidate_starts=candidate_starts - candidate_starts[0],
    )


class TextPairs(NamedTuple):
    """Input of a kernel that works candidate by candidate. `tokens` and `starts` are as in `TextGroups`.

    Candidate c is text c. Its pairs are `pair_starts[c]` to `pair_starts[c + 1] - 1`; pair p compares it with the
    text `references[p]`.
    """

    tokens: Numbers
    starts: Ints
    references: Ints
    pair_starts: Ints
