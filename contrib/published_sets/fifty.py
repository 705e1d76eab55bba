"""Read PASCAL-50S and ABSTRACT-50S, the sets of Vedantam et al. 2015 (V15 §4, App. I).

They are folders with `references.jsonl` and `pairs.jsonl`. PASCAL-50S has fifty references per image (its pairs use
the first 48), eleven pairwise votes per pair, and the winner of each pair by triplets, without votes. ABSTRACT-50S
has a majority vote for each of 48 triplets.
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
from judgments.importers.textio import ImportNotes, ImportProblem

REFERENCES_FILE, PAIRS_FILE = "references.jsonl", "pairs.jsonl"
# PASCAL-50S does not use its last two references in any triplet.
TRIPLET_REFERENCES = 48
_PAIRWISE_VOTES = 11  # votes that a pair has, if none is missing
_REFERENCE_COLUMNS = Columns(("image", "references"))
_COMMON_PAIR_COLUMNS = ("pair", "image", "kind", "first", "second")

# Required and optional columns of pairs, by set.
_PAIR_COLUMNS = {
    "pascal-50s": Columns(
        (*_COMMON_PAIR_COLUMNS, "first_source", "second_source"), ("pairwise_votes", "triplet_winner")
    ),
    "abstract-50s": Columns((*_COMMON_PAIR_COLUMNS, "correct"), ("kind_evidence", "triplet_votes")),
}

# Names of systems by the authors' numbers: five machines, people who described the image, and people who described
# another image.
_SYSTEMS_BY_SOURCE = {n: f"machine-{n}" for n in range(1, 6)} | {6: HUMAN_SYSTEM, 7: HUMAN_OTHER}


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
    """The two files of a set. Its methods raise ImportProblem for contradictions within a file and between both."""

    def __init__(self, name: str, path: Path, encoding: str | None, notes: ImportNotes) -> None:
        self.name = name
        self.notes = notes
        self._references_file = file_in_folder(path, REFERENCES_FILE)
        self._pairs_file = file_in_folder(path, PAIRS_FILE)
        if self._references_file == self._pairs_file:
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
        """Return the systems of both candidates, after a check that they fit the pair's kind."""
        if self.name == "abstract-50s":
            correct = record.values["correct"]
            if correct not in ([1, 2], [1], [2]) or (correct == [1, 2]) != (kind == "HC") or kind[0] != "H":
                raise record.problem("correct", quote_value(correct), "[1, 2] for HC, [1] or [2] for HI")
            return (
                HUMAN_SYSTEM if 1 in correct else HUMAN_OTHER,
                HUMAN_SYSTEM if 2 in correct else HUMAN_OTHER,
            )
        # Two people make HC or, if one described another image, HI; with machines, pairs are HM or MM.
        numbers = [record.read(column, _read_source) for column in ("first_source", "second_source")]
        low, high = sorted(numbers)
        implied_kind = {(6, 6): "HC", (6, 7): "HI"}.get((low, high), "HM" if high == 6 else "MM")
        if (high == 7 and low != 6) or implied_kind != kind:
            actual = f"{quote_value(kind)} with sources {numbers}"
            raise record.problem("kind", actual, "the kind these sources make")
        return _SYSTEMS_BY_SOURCE[numbers[0]], _SYSTEMS_BY_SOURCE[numbers[1]]


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
    """Base class of the readers of a set, which is named by its format."""

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
                if "\ufffd" in reference:
                    self.notes.count("broken-character")
                yield ReferenceRow(image, reference, caption_id, position)

    def pairs(self) -> Iterator[CandidatePairRow]:
        references = {(image, one_text(text)) for _, image, texts in self._folder.images() for text in texts}
        contents_read: set[tuple[str, frozenset[str]]] = set()
        for _, row in self._folder.pairs():
            first, second = one_text(row.first_text), one_text(row.second_text)
            for candidate in (first, second):
                self.notes.count("candidate-is-reference", (row.image, candidate) in references)
            content = (row.image, frozenset((first, second)))
            self.notes.count("repeated-pair", content in contents_read)
            contents_read.add(content)
            self.notes.count("equal-candidates", first == second)
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
        """Yield an aggregated row per reference and pair. PASCAL-50S yields none, since its votes are unpublished."""
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
        """Yield PASCAL-50S's winners. Its authors broke ties at random and did not mark them."""
        if self._folder.name != "pascal-50s":
            return
        for record, row in self._folder.pairs(images):
            winner = record.read("triplet_winner", _read_winner)
            self.notes.count("published-winners")
            yield WinnerRow(row.pair, row.image, row.kind, row.first_text, row.second_text, winner)
