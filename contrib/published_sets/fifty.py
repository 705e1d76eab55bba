"""Read PASCAL-50S and ABSTRACT-50S, the sets of Vedantam et al. 2015 (V15 §4, App. I).

A set is a folder with two files of JSON lines, `references.jsonl` and `pairs.jsonl`:

    {"image": "1.jpg", "references": ["A dog runs.", ...]}
    {"pair": "7", "image": "1.jpg", "kind": "HM", "first": "A dog.", "second": "A cat.", ...}

The kind of a pair says who wrote its candidates: two people about this image (HC), one of them about another image
(HI), a person and a machine (HM), or two machines (MM).

PASCAL-50S has fifty references per image (its pairs use the first 48). A pair has the sources of both candidates
(`first_source`, `second_source`), eleven `pairwise_votes`, and the winner by triplets (`triplet_winner`), without the
votes of these. In ABSTRACT-50S, a pair has a majority vote for each of 48 triplets (`triplet_votes`), and the numbers
of the candidates that people wrote about this image (`correct`); its `kind_evidence` is not read.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainValidator

from common.amounts import with_noun
from common.incoming import quote_value
from common.texts import one_text
from contrib.published_sets.folders import file_in_folder
from judgments.design.tables.sampling import PAIR_KINDS
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.column_types import ImageName, ShortName, cached_validator
from judgments.importers.records.columns import Columns
from judgments.importers.records.json_records import read_json_lines
from judgments.importers.records.record import Record, RowReader
from judgments.importers.records.rows import (
    HUMAN_OTHER,
    HUMAN_SYSTEM,
    CandidatePairRow,
    JudgmentRow,
    ReferenceRow,
    WinnerRow,
)
from judgments.importers.records.sources import DatasetSource, ImportSource, JudgmentSource
from judgments.importers.records.values import BadCell, read_integer, read_name, read_text
from judgments.importers.tables.datasets import CaptionRegister

REFERENCES_FILE, PAIRS_FILE = "references.jsonl", "pairs.jsonl"
# PASCAL-50S does not use its last two references in any triplet.
TRIPLET_REFERENCES = 48
_PAIRWISE_VOTES = 11  # votes that a pair has, if none is missing
_REFERENCE_COLUMNS = Columns(("image", "references"))
_COMMON_PAIR_COLUMNS = ("pair", "image", "kind", "first", "second")

# Required and optional columns of pairs, by set. `kind_evidence` is allowed, but not read.
_PAIR_COLUMNS = {
    "pascal-50s": Columns(
        (*_COMMON_PAIR_COLUMNS, "first_source", "second_source"), ("pairwise_votes", "triplet_winner")
    ),
    "abstract-50s": Columns((*_COMMON_PAIR_COLUMNS, "correct"), ("kind_evidence", "triplet_votes")),
}

# Numbers of sources in PASCAL-50S: five machines, people who described the image, people who described another image.
_HUMAN_SOURCE, _OTHER_IMAGE_SOURCE = 6, 7
_SYSTEMS_BY_SOURCE = {
    **{number: f"machine-{number}" for number in range(1, 6)},
    _HUMAN_SOURCE: HUMAN_SYSTEM,
    _OTHER_IMAGE_SOURCE: HUMAN_OTHER,
}


def _read_texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not value:
        raise BadCell(quote_value(value), "a list of texts")
    for index, entry in enumerate(value):
        try:
            read_text(entry)
        except BadCell as error:
            raise BadCell(error.actual, error.expected, f"[{index}]") from None
    return value


def _read_votes(value: Any) -> list[int]:
    votes = value if isinstance(value, list) else []
    if not votes or not all(type(vote) is int and vote in (1, 2) for vote in votes):
        raise BadCell(quote_value(value), "a list of votes that are 1 or 2")
    return votes


def _read_source(value: Any) -> int:
    number = read_integer(value, textual=False)
    if number not in _SYSTEMS_BY_SOURCE:
        raise BadCell(quote_value(number), "a source from 1 to 7")
    return number


def _read_kind(value: Any) -> str:
    kind = read_name(value)
    if kind not in PAIR_KINDS:
        raise BadCell(quote_value(kind), f"one of {', '.join(PAIR_KINDS)}")
    return kind


def _read_winner(value: Any) -> int:
    winner = read_integer(value, textual=False, expected="1 or 2")
    if winner not in (1, 2):
        raise BadCell(quote_value(winner), "1 or 2")
    return winner


@dataclass(frozen=True, slots=True)
class _ReferencesOfImage:
    image: ImageName
    references: Annotated[list[str], PlainValidator(_read_texts)]


@dataclass(frozen=True, slots=True)
class _Pair:
    pair: ShortName
    image: ImageName
    kind: Annotated[str, PlainValidator(_read_kind)]
    first: Annotated[str, cached_validator(read_text, expected="a candidate")]
    second: Annotated[str, cached_validator(read_text, expected="a candidate")]


_REFERENCES_READER, _PAIR_READER = RowReader(_ReferencesOfImage), RowReader(_Pair)


class _FiftyFolder:
    """The folder of a set. Its methods raise ImportProblem for contradictions within a file and between both files."""

    def __init__(self, name: str, path: Path, encoding: str | None, notes: ImportNotes) -> None:
        self.name = name
        self.notes = notes
        self._references_file = file_in_folder(path, REFERENCES_FILE)
        self._pairs_file = file_in_folder(path, PAIRS_FILE)
        if self._references_file == self._pairs_file:  # ``path`` is a file
            raise ImportProblem(
                path, None, None, "a file", "the folder with references.jsonl and pairs.jsonl"
            )
        self._encoding = encoding

    def images(self) -> Iterator[tuple[Record, str, list[str]]]:
        """Yield the record, the name and the references of each image."""
        images_read: set[str] = set()
        for record in read_json_lines(self._references_file, _REFERENCE_COLUMNS, self.notes, self._encoding):
            row = _REFERENCES_READER.read(record)
            if row.image in images_read:
                raise record.problem(
                    "image", f"{quote_value(row.image)} a second time", "every image on one line"
                )
            images_read.add(row.image)
            yield record, row.image, row.references
        if not images_read:
            raise ImportProblem(self._references_file, None, None, "no references", "at least one line")

    def pairs(self, images: Container[str] | None = None) -> Iterator[tuple[Record, CandidatePairRow]]:
        """Yield the record and the row of each pair. ``images`` are the images of the dataset, if there is one."""
        references = {image: texts for _, image, texts in self.images()}
        pairs_read: set[str] = set()
        for record in read_json_lines(self._pairs_file, _PAIR_COLUMNS[self.name], self.notes, self._encoding):
            row = _PAIR_READER.read(record)
            if row.pair in pairs_read:
                raise record.problem("pair", f"{quote_value(row.pair)} a second time", "every pair once")
            pairs_read.add(row.pair)
            if row.image not in references:
                raise record.problem("image", quote_value(row.image), "an image of references.jsonl")
            if images is not None and row.image not in images:
                raise record.problem("image", quote_value(row.image), "an image of the dataset")
            # None: the pair uses all references.
            reference_count = TRIPLET_REFERENCES if len(references[row.image]) > TRIPLET_REFERENCES else None
            systems = self._systems(record, row.kind)
            yield (
                record,
                CandidatePairRow(
                    row.pair, row.image, row.kind, row.first, row.second, *systems, references=reference_count
                ),
            )
        if not pairs_read:
            raise ImportProblem(self._pairs_file, None, None, "no pairs", "at least one line")

    def _systems(self, record: Record, kind: str) -> tuple[str, str]:
        """Return the systems of both candidates. Raise ImportProblem if they do not fit the pair's kind."""
        if self.name == "abstract-50s":
            return _systems_by_correctness(record, kind)
        return _systems_by_sources(record, kind)


def _systems_by_correctness(record: Record, kind: str) -> tuple[str, str]:
    """Return the systems of a pair of ABSTRACT-50S, whose candidates were all written by people.

    The column `correct` has the numbers (1, 2) of the candidates that describe the image: both in pairs of the kind
    HC, one in those of the kind HI.
    """
    correct = record.values["correct"]
    expected_kind = "HC" if correct == [1, 2] else "HI"
    if correct not in ([1, 2], [1], [2]) or kind != expected_kind:
        raise record.problem("correct", quote_value(correct), "[1, 2] for HC, [1] or [2] for HI")
    return (
        HUMAN_SYSTEM if 1 in correct else HUMAN_OTHER,
        HUMAN_SYSTEM if 2 in correct else HUMAN_OTHER,
    )


def _systems_by_sources(record: Record, kind: str) -> tuple[str, str]:
    """Return the systems of a pair of PASCAL-50S, whose sources are numbers of ``_SYSTEMS_BY_SOURCE``."""
    first, second = (record.read(column, _read_source) for column in ("first_source", "second_source"))
    if kind != _kind_of_sources(first, second):
        actual = f"{quote_value(kind)} with sources {[first, second]}"
        raise record.problem("kind", actual, "the kind these sources make")
    return _SYSTEMS_BY_SOURCE[first], _SYSTEMS_BY_SOURCE[second]


def _kind_of_sources(first: int, second: int) -> str | None:
    """Return the kind of a pair with these sources; None if no kind has them."""
    low, high = sorted((first, second))
    if high == _OTHER_IMAGE_SOURCE:
        return "HI" if low == _HUMAN_SOURCE else None
    if high == _HUMAN_SOURCE:
        return "HC" if low == _HUMAN_SOURCE else "HM"
    return "MM"


def _make_judgment(row: CandidatePairRow, **values: Any) -> JudgmentRow:
    return JudgmentRow(
        image=row.image,
        first_text=row.first_text,
        second_text=row.second_text,
        kind=row.kind,
        pair=row.pair,
        anonymous=True,
        **values,
    )


class _FiftyReader(ImportSource):
    """Base class of the readers of a set. ``name`` is that of the set: "pascal-50s" or "abstract-50s"."""

    def __init__(self, name: str, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        self._folder = _FiftyFolder(name, path, encoding, self.notes)


class FiftyDataset(_FiftyReader, DatasetSource):
    """The references and candidate pairs of a set. The references are kept in memory while the pairs are read."""

    def rows(self) -> Iterator[ReferenceRow]:
        register = CaptionRegister(self.notes)
        for record, image, texts in self._folder.images():
            unused_count = max(0, len(texts) - TRIPLET_REFERENCES)
            self.notes.count("unused-references", unused_count, detail=f"{TRIPLET_REFERENCES}")
            for position, reference in enumerate(texts):
                caption_id = f"{image}#{position}"
                register.add(record, caption_id, image, reference)
                if "\ufffd" in reference:  # stands for bytes that could not be decoded
                    self.notes.count("broken-character")
                yield ReferenceRow(image, reference, caption_id, position)

    def pairs(self) -> Iterator[CandidatePairRow]:
        references = {(image, one_text(text)) for _, image, texts in self._folder.images() for text in texts}
        contents_read: set[tuple[str, frozenset[str]]] = set()
        for _, row in self._folder.pairs():
            first_text, second_text = one_text(row.first_text), one_text(row.second_text)
            for candidate in (first_text, second_text):  # a condition that is false adds no note
                self.notes.count("candidate-is-reference", (row.image, candidate) in references)
            content = (row.image, frozenset((first_text, second_text)))
            self.notes.count("repeated-pair", content in contents_read)
            contents_read.add(content)
            self.notes.count("equal-candidates", first_text == second_text)
            yield row


class FiftyPairwise(_FiftyReader, JudgmentSource):
    """PASCAL-50S's pairwise votes (V15 App. I): eleven per pair, by anonymous raters."""

    protocol = "pairwise"
    anonymous = True

    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]:
        for record, row in self._folder.pairs(images):
            votes = record.read("pairwise_votes", _read_votes)
            self.notes.count("fewer-votes", len(votes) < _PAIRWISE_VOTES, detail=f"{len(votes)}")
            self.notes.count("anonymous-totals")
            for rater, vote in enumerate(votes, 1):
                yield _make_judgment(
                    row,
                    unit=f"{self._folder.name}-pair-{row.pair}",
                    worker=f"anon-{rater}",
                    value=vote,
                    protocol="pairwise",
                )


class FiftyTriplets(_FiftyReader, JudgmentSource):
    """Triplet judgments (V15 §3): ABSTRACT-50S's majority votes, and PASCAL-50S's winners."""

    protocol = "triplet"
    anonymous = True

    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]:
        """Yield an aggregated row per reference and pair; none for PASCAL-50S, whose votes are unpublished."""
        if self._folder.name == "pascal-50s":
            return
        references = {image: texts for _, image, texts in self._folder.images()}
        for record, row in self._folder.pairs(images):
            votes, texts = record.read("triplet_votes", _read_votes), references[row.image]
            if len(votes) != len(texts):
                expected = f"{len(texts)}, one for each reference of the image"
                raise record.problem("triplet_votes", with_noun(len(votes), "vote"), expected)
            self.notes.count("aggregated-votes", len(votes))
            for position, (vote, reference_text) in enumerate(zip(votes, texts, strict=True)):
                reference = f"{row.image}#{position}"
                if captions is not None and reference not in captions:
                    raise record.problem("image", f"no caption {quote_value(reference)}", "it in the dataset")
                yield _make_judgment(
                    row,
                    unit=f"{self._folder.name}-pair-{row.pair}-reference-{position}",
                    worker="anon-1",
                    value=vote,
                    protocol="triplet",
                    reference=reference,
                    reference_text=reference_text,
                    aggregated=True,
                )

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        """Yield the winners of PASCAL-50S. Its authors broke ties at random and did not mark them."""
        if self._folder.name != "pascal-50s":
            return
        for record, row in self._folder.pairs(images):
            winner = record.read("triplet_winner", _read_winner)
            self.notes.count("published-winners")
            yield WinnerRow(row.pair, row.image, row.kind, row.first_text, row.second_text, winner)
