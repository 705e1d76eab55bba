"""Records and tallies of judgments of a study or a file, without a database.

``judgment_signature`` states how judgments were made (docs/signatures.md), as sacrebleu's signature does for
scores (Post 2018, "A Call for Clarity in Reporting BLEU Scores").
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from json.encoder import encode_basestring
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from judgments.design.scale import plain_number
from judgments.kinds import Kind
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.signatures import Signature, Value
from quorum.statistics.aggregation import majority_vote, mean_grade
from quorum.statistics.aggregation.pair_answers import FIRST, MUCH, SECOND

if TYPE_CHECKING:
    import pyarrow as pa

    from annotation.quality.controls import ControlRecord

FIRST_LEFT = "first-left"
NO_PAIR = -1
AS_IMPORTED = "as-imported"
# Above this many values exact agreement is not expected: only alpha is meaningful.
MOST_VALUES = 10
UNITS_AT_ONCE = 20_000
DIGITS_OF_HASH = 16  # 64 bits: distinguishes data, and is short enough for a plot
LINES_AT_ONCE = 100_000  # hashed
TO_ESCAPE = r'["\\\x00-\x1f]'  # what JSON escapes
NOT_PLAIN = r"[^ !#-\[\]-~]"  # the same in ASCII


@dataclass(frozen=True, slots=True)
class JudgmentTable:
    """N judgments of a study.

    Attributes:
        pk: (N,) int64, ascending row ids, in arrival order.
        unit, worker: (N,) int64 row ids.
        value: (N,) float64 in the unit's order; nan for open answers; for two candidates the side alone.
        full_value: (N,) float64, the same with strength and confidence (preferences.py).
        answer: N open answers in the unit's order, None for values; () if all are values.
        control: (N,) bool, on control items.
        used: (N,) bool, excluded neither by an import nor by the control rule.
        side: (N,) int8, the option on the left, 1 or 2; 0 without sides.
        seconds: (N,) float64; nan if unknown.
        records: worker -> results on control items; empty if not loaded.
    """

    pk: Ints
    unit: Ints
    worker: Ints
    value: Floats
    full_value: Floats
    answer: tuple[Any, ...]
    control: Flags
    used: Flags
    side: NDArray[np.int8]
    seconds: Floats
    data_hash: str
    records: Mapping[int, ControlRecord] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def counted(self) -> Flags:
        """Return (N,) bool: used judgments, except on control items."""
        return self.used & ~self.control

    @property
    def sided(self) -> Flags:
        """Return (N,) bool: choices of one of two sides."""
        return (self.side > 0) & ((self.value == FIRST) | (self.value == SECOND))

    @property
    def left(self) -> Flags:
        """Return (N,) bool: choices of the option on the left."""
        return (self.side > 0) & (self.value == self.side)

    @property
    def order(self) -> Floats:
        """Return (N,) 1 where the first option was on the left, -1 where the second was, 0 without sides."""
        return (self.side == FIRST) * 1.0 - (self.side == SECOND)

    def answers_of(self, keep: Flags) -> list[Any]:
        """Return the answers of the rows ``keep``: numbers, or open ones."""
        return [
            self.answer[row] if np.isnan(self.full_value[row]) else plain_number(self.full_value[row])
            for row in np.flatnonzero(keep).tolist()
        ]


@dataclass(frozen=True, slots=True)
class WorkerRow:
    pk: int
    name: str
    anonymous: bool
    simulated: bool


class UnitRow(NamedTuple):
    pk: int
    key: str
    kind: str
    pair: int | None


class Units(Sequence[UnitRow]):
    """Judged units as columns; rows are made on access.

    Attributes:
        pk: (U,) row ids.
        key: (U,) strings of Arrow.
        kind: (U,) positions in ``kinds``.
        pair: (U,) row ids; NO_PAIR without one.
    """

    def __init__(self, pk: Ints, key: pa.Array, kind: Ints, kinds: Sequence[str], pair: Ints) -> None:
        self.pk, self.key, self.kind, self.kinds, self.pair = pk, key, kind, tuple(kinds), pair

    @classmethod
    def of(cls, rows: Sequence[UnitRow]) -> Units:
        if isinstance(rows, Units):
            return rows
        import pyarrow as pa  # 40 MB that most web processes never need

        pk, key, kind, pair = zip(*rows, strict=True) if rows else ((), (), (), ())
        columns = (
            pa.array(pk, pa.int64()),
            pa.array(key, pa.large_string()),
            pa.array(kind),
            pa.array(pair, pa.int64()),
        )
        return cls.of_columns(pa.table(columns, names=["pk", "key", "kind", "pair"]))

    @classmethod
    def of_columns(cls, table: pa.Table) -> Units:
        """Make units of equally named columns; ``kind`` is text, and ``pair`` null without one."""
        kind = table["kind"].cast("string").combine_chunks().dictionary_encode()
        return cls(
            table["pk"].to_numpy(),
            table["key"].combine_chunks(),
            kind.indices.to_numpy().astype(np.int64),
            kind.dictionary.to_pylist(),
            table["pair"].fill_null(NO_PAIR).to_numpy(),
        )

    def __len__(self) -> int:
        return len(self.pk)

    def __iter__(self) -> Iterator[UnitRow]:
        for start in range(0, len(self), UNITS_AT_ONCE):
            yield from self._rows(slice(start, start + UNITS_AT_ONCE))

    @overload
    def __getitem__(self, index: int) -> UnitRow: ...

    @overload
    def __getitem__(self, index: slice) -> list[UnitRow]: ...

    def __getitem__(self, index: int | slice) -> UnitRow | list[UnitRow]:
        if isinstance(index, slice):
            return self._rows(index)
        return self._rows(slice(index, index + 1 or None))[0]

    def _rows(self, some: slice) -> list[UnitRow]:
        pairs = (None if pair == NO_PAIR else pair for pair in self.pair[some].tolist())
        kinds = (self.kinds[kind] for kind in self.kind[some].tolist())
        columns = self.pk[some].tolist(), self.key[some].to_pylist(), kinds, pairs
        return list(map(UnitRow, *columns))

    def at(self, positions: Ints) -> Units:
        key = self.key.take(positions)
        return Units(self.pk[positions], key, self.kind[positions], self.kinds, self.pair[positions])


def texts_of(column: pa.Array) -> Iterator[str]:
    for start in range(0, len(column), UNITS_AT_ONCE):
        yield from column[start : start + UNITS_AT_ONCE].to_pylist()


@dataclass(frozen=True, slots=True)
class Decision:
    """An adjudication: decision in the unit's order, time in ISO 8601, and the votes then."""

    value: float
    by: str
    at: str
    reason: str
    votes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PairRow:
    pk: int
    key: str
    kind: str
    first: str
    second: str
    published_winner: int | None


class DataHash:
    """SHA-256 over judgments by unit, then worker name: answers and whether included, not row ids or times.

    Args:
        into: gets what is to be hashed instead, for ``hash_of_files``.
    """

    def __init__(self, into: Callable[[bytes], object] | None = None) -> None:
        self._hash = hashlib.sha256()
        self._take = into or self._hash.update
        self._encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode

    def add(self, unit: str, worker: str, answer: Any, used: bool) -> None:
        encoded = str(answer) if type(answer) is int else self._encode(answer)
        line = f"[{encode_basestring(unit)}, {encode_basestring(worker)}, {encoded}, {'true' if used else 'false'}]\n"
        self._take(line.encode())

    def add_coded(
        self,
        units: pa.Array | Iterable[str],
        workers: Iterable[str],
        answers: Iterable[Any],
        codes: Sequence[Ints],
    ) -> None:
        """Add many judgments at once.

        ``units``, ``workers`` and ``answers`` are distinct; ``codes`` are four (N,) int64: positions in them,
        and 0 or 1 for used.
        """
        parts = (
            line_beginnings(units),
            text_column(f"{encode_basestring(worker)}, " for worker in workers),
            text_column(f"{self._encode(answer)}, " for answer in answers),
            text_column(("false]\n", "true]\n")),
        )
        for start in range(0, len(codes[0]), LINES_AT_ONCE):
            some = [code[start : start + LINES_AT_ONCE] for code in codes]
            self._hash.update(joined_lines(*zip(parts, some, strict=True)))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def joined_lines(*parts: tuple[pa.Array, Ints] | str) -> memoryview:
    """Return the bytes of N lines, made of texts at (N,) positions in arrays, and of texts that all lines have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [
        pa.scalar(part, pa.large_string()) if isinstance(part, str) else part[0].take(pa.array(part[1]))
        for part in parts
    ]
    lines = pc.binary_join_element_wise(*columns, pa.scalar("", pa.large_string()))
    _, ends, text = lines.buffers()
    return memoryview(text)[: np.frombuffer(ends, dtype=np.int64)[len(lines)]]


def text_column(values: Iterable[str]) -> pa.Array:
    """Return an Arrow column, built in parts: millions of Python strings would take four times the memory."""
    import pyarrow as pa  # loaded when it is first used, as most web processes never need its 40 MB

    stream, parts = iter(values), [pa.array([], pa.large_string())]
    while some := list(islice(stream, LINES_AT_ONCE)):
        parts.append(pa.array(some, pa.large_string()))
    return pa.concat_arrays(parts)


def line_beginnings(
    units: pa.Array | Iterable[str],
    encode: Callable[[str], str] = encode_basestring,
    escaped: str = TO_ESCAPE,
) -> pa.Array:
    """Return the beginning of each unit's lines, ``["key", ``; ``encode`` changes the characters ``escaped``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = units if isinstance(units, pa.Array) else text_column(units)
    if pc.any(pc.match_substring_regex(texts, escaped)).as_py():
        return text_column(f"[{encode(key)}, " for key in texts.to_pylist())
    start, end, nothing = (pa.scalar(part, pa.large_string()) for part in ('["', '", ', ""))
    return pc.binary_join_element_wise(start, texts.cast(pa.large_string()), end, nothing)


def hash_of_files(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of files one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def hash_with(data_hash: str, others: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a data hash with other data, as JSON with sorted keys."""
    return hashlib.sha256(f"{data_hash}{json.dumps(others, sort_keys=True)}".encode()).hexdigest()


@dataclass(slots=True)
class JudgmentTally:
    """Count and hash judgments ordered by unit, then worker name."""

    counted: int = 0
    sided: int = 0
    first_left: int = 0
    units: int = 0
    least: int = 0
    most: int = 0
    _unit: str | None = None
    _votes: int = 0
    _hash: DataHash = field(default_factory=DataHash)

    @classmethod
    def into(cls, write: Callable[[bytes], object]) -> JudgmentTally:
        """Return a tally of some units, which writes what is to be hashed of all (see ``add_votes``)."""
        return cls(_hash=DataHash(write))

    def add(self, unit: str, worker: str, answer: Any, *, used: bool, control: bool, presented: str) -> None:
        """Add a judgment; ``answer`` is canonical, ``presented`` is '' without sides."""
        self._hash.add(unit, worker, answer, used)
        if control or not used:
            return
        if unit != self._unit:
            self._close()
            self._unit = unit
        self._votes += 1
        self.counted += 1
        if presented and answer % MUCH in (FIRST, SECOND):
            self.sided += 1
            self.first_left += presented == FIRST_LEFT

    def _close(self) -> None:
        if self._votes:
            self.least = min(self.least, self._votes) if self.units else self._votes
            self.most = max(self.most, self._votes)
            self.units += 1
        self._votes = 0

    def facts(self) -> Votes:
        self._close()
        self._unit = None
        return Votes(
            self.units,
            self.least,
            self.most,
            self.sided,
            self.first_left,
            self._hash.hexdigest(),
            self.counted,
        )


@dataclass(frozen=True, slots=True)
class Votes:
    """Vote counts.

    Attributes:
        units: judged units with an included vote.
        least, most: included votes per such unit.
        sided, first_left: included votes on two-sided units, and those with the first option on the left.
        data_hash: of all judgments, included or not.
        counted: included votes.
    """

    units: int
    least: int
    most: int
    sided: int
    first_left: int
    data_hash: str
    counted: int


def add_votes(parts: Sequence[Votes], data_hash: str) -> Votes:
    """Add the counts of distinct units."""
    judged = [part for part in parts if part.units]
    return Votes(
        units=sum(part.units for part in judged),
        least=min((part.least for part in judged), default=0),
        most=max((part.most for part in judged), default=0),
        sided=sum(part.sided for part in judged),
        first_left=sum(part.first_left for part in judged),
        data_hash=data_hash,
        counted=sum(part.counted for part in judged),
    )


@dataclass(frozen=True, slots=True)
class Material:
    """The judged material, without control items.

    Attributes:
        pairs: candidate pairs; None for single units.
        references: fewest and most per pair; (0, 0) if none was shown.
    """

    units: int
    pairs: int | None
    images: int
    references: tuple[int, int]


def range_value(low: int, high: int) -> Value:
    """Return ``3``, or ``2-5`` for a range."""
    return low if low == high else f"{low}-{high}"


def hash_with_winners(data_hash: str, winners: Mapping[str, int]) -> str:
    """Return the hash of judgments and of winners published without votes, by pair key."""
    return hash_with(data_hash, winners) if winners else data_hash


def judgment_signature(
    kind: Kind,
    material: Material,
    votes: Votes,
    *,
    controls: Value,
    seed: int,
    version: str,
    others: Mapping[str, Value] | None = None,
) -> Signature:
    """Return the signature of judgments of ``kind``.

    Args:
        controls: the required share of right control items; 'none', or 'as-imported'.
        others: optional fields: a stopping rule, adjudicated units, simulated answers.
    """
    least = votes.least if votes.units == material.units else 0
    fields: dict[str, Value] = {}
    if material.pairs is not None:
        fields["pairs"] = material.pairs
    fields |= {
        "units": material.units,
        "imgs": material.images,
        "refs": range_value(*material.references),
        "votes": range_value(least, votes.most),
        "sides": round(votes.first_left / votes.sided, 3) if votes.sided else "none",
        "ctrl": controls,
        "agg": f"{kind.aggregation.rule}-then-pairs" if material.pairs is not None else kind.aggregation.rule,
        "ties": kind.aggregation.tie_rule,
        **(others or {}),
        "seed": seed,
        "data": votes.data_hash[:DIGITS_OF_HASH],
    }
    return Signature(kind.name, fields, version)


@dataclass(frozen=True, slots=True)
class Difference:
    field: str
    stated: Value
    current: Value

    def __str__(self) -> str:
        return f"{self.field}: stated {_value_text(self.stated)}, found {_value_text(self.current)}"


def differences(stated: Signature, current: Signature) -> list[Difference]:
    """Compare all fields, even protocol and version, in the order of ``stated``."""
    stated_fields = {"protocol": stated.name, **stated.fields, "v": stated.version}
    current_fields = {"protocol": current.name, **current.fields, "v": current.version}
    return [
        Difference(name, stated_fields.get(name), current_fields.get(name))
        for name in dict.fromkeys((*stated_fields, *current_fields))
        if stated_fields.get(name) != current_fields.get(name)
        or (name in stated_fields) != (name in current_fields)
    ]


def _value_text(value: Value) -> str:
    return "nothing" if value is None else str(value)


DEFAULT_LEVEL = "nominal"
Values = NDArray[np.float64] | NDArray[np.object_]
Captions = tuple[str | None, str | None, str | None]
NONE: Captions = (None, None, None)


Sides = tuple[tuple[str, ...], tuple[str, ...]]  # names of systems


@dataclass(frozen=True, slots=True)
class Content:
    """A unit's reference, first and second caption, by id and by text as far as known.

    ``systems`` are the names of those that a file credits with the first and the second; ``kind`` is that of the pair.
    ``document``: of which the image is a part.
    """

    image: str | None = None
    ids: Captions = NONE
    texts: Captions = NONE
    systems: Sides = ((), ())
    kind: str = ""
    document: str = ""

    def swapped(self) -> Content:
        ids, texts = ((reference, second, first) for reference, first, second in (self.ids, self.texts))
        return replace(self, ids=ids, texts=texts, systems=self.systems[::-1])

    def keys(
        self, *, reference: bool, two_sided: bool, by_system: bool = False
    ) -> Iterator[tuple[Hashable, bool]]:
        """Yield (key, whether candidates are swapped), by ids and by texts, also of each system."""
        for name, captions in (("ids", self.ids), ("texts", self.texts)):
            shown, first, second = captions
            if self.image is None or first is None or (two_sided and second is None):
                continue
            # The other ids may be known although this one is not.
            if reference and shown is None and (self.ids[0] is not None or self.texts[0] is not None):
                continue
            sides = [(first, self.systems[0]), (second, self.systems[1])]
            if not by_system:
                sides = [(caption, ()) for caption, _ in sides]
            turned = two_sided and second is not None and sides[0] > sides[1]
            yield (
                (name, self.image, shown if reference else None, *(sides[::-1] if turned else sides)),
                turned,
            )


@dataclass(frozen=True, slots=True)
class Source:
    """N judgments of a source.

    unit: (N,) positions in `units`. rater: (N,) whole numbers. value: (N,) numbers, or objects if any is a
    text. left_out: reason -> rows. full_depth: (U,) unstopped units, if sampled. anonymous: whether raters
    are positions in published totals, not people.
    """

    name: str
    kind: Kind | None
    units: Sequence[str]
    contents: Sequence[Content]
    unit: Ints
    rater: Ints
    value: Values
    left_out: Mapping[str, int] = field(default_factory=dict)
    full_depth: Flags | None = None
    anonymous: bool = False

    @property
    def level(self) -> str:
        return DEFAULT_LEVEL if self.kind is None else self.kind.aggregation.level

    @property
    def two_sided(self) -> bool:
        return self.kind is not None and self.kind.two_sided

    @property
    def is_numeric(self) -> bool:
        return self.value.dtype != object

    @property
    def score(self) -> str:
        if self.two_sided:
            return "share for the first"
        return "share of yes" if self.kind is not None and self.level == "nominal" else "mean"

    def merged_into(self, groups: Ints, turned: Flags, count: int) -> Source:
        """Merge units into `count` groups; flip answers on turned units."""
        value = self.value
        if self.kind is not None and turned.any():
            value = value.copy()
            rows = np.flatnonzero(turned[self.unit])
            to_canonical = self.kind.sides.to_canonical
            value[rows] = [to_canonical(int(answer), side=True) for answer in value[rows].tolist()]
        names = [str(number) for number in range(count)]
        contents = [Content()] * count
        for group, swapped, content in zip(groups.tolist(), turned.tolist(), self.contents, strict=False):
            contents[group] = content.swapped() if swapped else content
        return Source(
            self.name,
            self.kind,
            names,
            contents,
            groups[self.unit],
            self.rater,
            value,
            self.left_out,
            anonymous=self.anonymous,
        )

    def limited_to(self, units: Flags) -> Source:
        rows = units[self.unit]
        return replace(
            self, unit=self.unit[rows], rater=self.rater[rows], value=self.value[rows], full_depth=None
        )

    def scores(self) -> Floats:
        """Return (U,) scores; nan without judgments."""
        scores = np.full(len(self.units), np.nan)
        if len(self.unit):
            value = first_chosen(self.value.astype(np.float64)) if self.two_sided else self.value
            means = mean_grade(self.unit, value)
            scores[means.units] = means.mean
        return scores

    def consensus(self) -> dict[int, Any]:
        """Return unit -> consensus, omitting ties."""
        if not len(self.unit):
            return {}
        if self.kind is None:
            votes = majority_vote(self.unit, self.value.tolist())
            winners = zip(votes.units.tolist(), votes.winner.tolist(), strict=True)
            labels = votes.labels.tolist()
            return {unit: labels[index] for unit, index in winners if index >= 0}
        answers = [plain_number(answer) for answer in self.value.tolist()]
        consensus = self.kind.aggregation.consensus(self.unit.tolist(), answers)
        return {unit: float(winner.value) for unit, winner in consensus.items() if winner.value is not None}


def first_chosen(side: Floats) -> Floats:
    """Return (N,) 1 for the first of two candidates, 0 for the second, 0.5 for neither side."""
    return np.where(side == 1, 1.0, np.where(side == 2, 0.0, 0.5))
