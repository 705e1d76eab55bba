"""METEOR's alignment written down plainly from its definition and the program's habits, for comparison."""

import gzip
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from quorum.metrics.meteor.tables import MeteorTables, Paraphrases, Synonyms, read_paraphrases
from quorum.metrics.text.snowball import snowball_stems

BEAM = 40
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Data:
    """Small tables: function words, synonym sets of words, paraphrases in their order."""

    function_words: frozenset[str]
    synonyms: Mapping[str, frozenset[int]]
    paraphrases: Sequence[tuple[str, str]]

    def tables(self) -> MeteorTables:
        sets = [sorted(numbers) for numbers in self.synonyms.values()]
        ends = [sum(map(len, sets[:count])) for count in range(len(sets) + 1)]
        synonyms = Synonyms(
            {word: number for number, word in enumerate(self.synonyms)},
            np.array([number for one in sets for number in one], dtype=np.int32),
            np.array(ends, dtype=np.int64),
            {},
        )
        text = "".join(f"0.5\n{source}\n{target}\n" for source, target in self.paraphrases)
        packed = io.BytesIO(gzip.compress(text.encode()))
        table = Paraphrases.from_arrays(read_paraphrases(packed, "table")) if self.paraphrases else None
        return MeteorTables("made-up", self.function_words, {}, synonyms, table)

    def sets_of(self, word: str) -> set[int]:
        """Synonym sets of a word and, for a plural, of its singular."""
        return {*self.synonyms.get(word, ()), *self.synonyms.get(word.removesuffix("s"), ())}


@dataclass(frozen=True)
class Match:
    """`ours` words of the candidate from `place` on beside `theirs` words of the reference from `at` on."""

    at: int
    place: int
    ours: int
    theirs: int
    stage: int

    @property
    def worth(self) -> int:
        return 2 if self.stage == 0 else self.ours // 2 + self.theirs // 2

    def covers(self) -> tuple[set[int], set[int]]:
        return (
            set(range(self.place, self.place + self.ours)),
            set(range(self.at, self.at + self.theirs)),
        )


def _starts_at(words: Sequence[str], place: int, phrase: Sequence[str]) -> bool:
    return list(words[place : place + len(phrase)]) == list(phrase)


def matches(ours: Sequence[str], theirs: Sequence[str], data: Data) -> list[list[Match]]:
    """All matches by the word of the reference where they begin, in the order in which the search tries them."""
    found: list[list[Match]] = [[] for _ in theirs]
    stems = dict(zip([*ours, *theirs], snowball_stems([*ours, *theirs]), strict=True))
    tests = (
        lambda one, other: one == other,
        lambda one, other: one != other and stems[one] == stems[other],
        lambda one, other: one != other and bool(data.sets_of(one) & data.sets_of(other)),
    )
    for stage, is_match in enumerate(tests):
        for at, word in enumerate(theirs):
            found[at] += [
                Match(at, place, 1, 1, stage) for place, own in enumerate(ours) if is_match(own, word)
            ]
    # Phrases are looked up in the table by their first word, short ones first.
    table = sorted((source.split(), target.split()) for source, target in data.paraphrases)
    order = {(tuple(s.split()), tuple(t.split())): number for number, (s, t) in enumerate(data.paraphrases)}
    table.sort(key=lambda pair: (len(pair[0]), order[tuple(pair[0]), tuple(pair[1])]))
    for at in range(len(theirs)):
        for source, target in table:
            if _starts_at(theirs, at, source):
                found[at] += [
                    Match(at, place, len(target), len(source), 3)
                    for place in range(len(ours))
                    if _starts_at(ours, place, target)
                ]
    for place in range(len(ours)):
        for source, target in table:
            if _starts_at(ours, place, source):
                for at in range(len(theirs)):
                    if _starts_at(theirs, at, target):
                        found[at].append(Match(at, place, len(source), len(target), 3))
    return found


@dataclass(frozen=True)
class Path:
    total: int = 0
    chunks: int = 0
    distance: int = 0
    next: int = 0
    open: int | None = None
    used: frozenset[int] = frozenset()
    chosen: tuple[Match, ...] = ()

    @property
    def rank(self) -> tuple[int, int, int]:
        return (-self.total, self.chunks, self.distance)

    def closed(self) -> "Path":
        return replace(self, chunks=self.chunks + (self.open is not None), open=None)

    def taking(self, match: Match) -> "Path":
        broken = self.open is not None and self.open != match.place
        return replace(
            self,
            total=self.total + match.worth,
            chunks=self.chunks + broken,
            next=match.at + match.theirs,
            open=match.place + match.ours,
            used=self.used | match.covers()[0],
            chosen=(*self.chosen, match),
        )


def alignment(ours: Sequence[str], theirs: Sequence[str], data: Data) -> tuple[Match, ...]:
    """The best alignment."""
    if list(ours) == list(theirs):
        return tuple(Match(at, at, 1, 1, 0) for at in range(len(theirs)))
    found = matches(ours, theirs, data)
    everything = [match for row in found for match in row]
    fixed = [
        row[0]
        for row in found
        if len(row) == 1
        and not any(
            row[0] is not other
            and (row[0].covers()[0] & other.covers()[0] or row[0].covers()[1] & other.covers()[1])
            for other in everything
        )
    ]
    taken = set().union(*(match.covers()[1] for match in fixed))
    paths = [Path(used=frozenset().union(*(match.covers()[0] for match in fixed)))]
    for at in range(len(theirs)):
        following: list[Path] = []
        for path in sorted(paths, key=lambda path: path.rank)[:BEAM]:
            if path.next > at:
                following.append(path)
            elif at in taken:
                match = next(match for match in fixed if match.at == at)
                distance = path.distance + abs(at - match.place)
                following.append(replace(path.taking(match), distance=distance))
            else:
                distance = path.distance
                for match in found[at]:
                    if not match.covers()[0] & path.used and not match.covers()[1] & taken:
                        following.append(replace(path.taking(match), distance=distance))
                        distance += abs(at - match.place)
                following.append(replace(path.closed(), next=at + 1, distance=distance))
        paths = following
    best = [path.closed() for path in sorted(paths, key=lambda path: path.rank)[:BEAM]]
    return min(best, key=lambda path: path.rank).chosen


def statistics(ours: Sequence[str], theirs: Sequence[str], data: Data) -> list[int]:
    """The 21 counts of the best alignment."""
    chosen = alignment(ours, theirs, data)
    counts = [len(ours), len(theirs)]
    counts += [sum(word in data.function_words for word in words) for words in (ours, theirs)]
    for stage in range(4):
        own = [ours[at] for match in chosen if match.stage == stage for at in sorted(match.covers()[0])]
        other = [theirs[at] for match in chosen if match.stage == stage for at in sorted(match.covers()[1])]
        functions = [sum(word in data.function_words for word in words) for words in (own, other)]
        counts += [len(own) - functions[0], len(other) - functions[1], *functions]
    joined = sum(
        one.at + one.theirs == other.at and one.place + one.ours == other.place
        for one, other in pairwise(chosen)
    )
    return [*counts, len(chosen) - joined]
