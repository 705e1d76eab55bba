"""PASCAL-50S and ABSTRACT-50S (V15 §4, App. I): references, candidate pairs, votes and winners.

Both are folders with `references.jsonl` (`image`, `references`) and `pairs.jsonl`. PASCAL-50S has fifty
references an image, of which its pairs use the first 48, eleven pairwise votes a pair, and the winner
of each pair's triplets without the votes. ABSTRACT-50S has a majority vote for each of 48 triplets.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from judgments.importers.errors import ImportProblem
from judgments.importers.fields import SHORT_NAME_LIMIT, Columns, Fields, counted, shown
from judgments.importers.flickr8k import inside
from judgments.importers.notes import ImportNotes
from judgments.importers.records import (
    HUMAN,
    HUMAN_OTHER,
    PAIR_KINDS,
    JudgmentRow,
    PairRow,
    ReferenceRow,
    WinnerRow,
)
from judgments.importers.tables import CaptionRegister, read_json_lines

# PASCAL-50S keeps its last two references out of every triplet.
TRIPLET_REFERENCES = 48
_PAIRWISE_VOTES = 11

_REFERENCES = Columns(("image", "references"))
_PAIRS = {
    "pascal-50s": Columns(
        ("pair", "image", "kind", "first", "second", "first_source", "second_source"),
        ("pairwise_votes", "triplet_winner"),
    ),
    "abstract-50s": Columns(
        ("pair", "image", "kind", "first", "second", "correct"), ("kind_evidence", "triplet_votes")
    ),
}
# The authors number five machines, the image's own people and other images' people.
_SOURCES = {n: f"machine-{n}" for n in range(1, 6)} | {6: HUMAN, 7: HUMAN_OTHER}


@dataclass(frozen=True, slots=True)
class _Pair:
    row: PairRow
    fields: Fields


class _Folder:
    """The two files of a set, read and checked once for all that its readers make of them."""

    def __init__(self, name: str, path: Path, notes: ImportNotes, encoding: str | None) -> None:
        self.name = name
        self.references_file = inside(path, "references.jsonl")
        self.pairs_file = inside(path, "pairs.jsonl")
        if self.references_file == self.pairs_file:
            raise ImportProblem(
                path, None, None, "a file", "the folder with references.jsonl and pairs.jsonl"
            )
        self.notes = notes
        self.encoding = encoding

    def images(self) -> Iterator[tuple[Fields, str, list[str]]]:
        """(fields, image, references) for every line of references.jsonl."""
        seen: set[str] = set()
        for fields in read_json_lines(self.references_file, _REFERENCES, self.notes, self.encoding):
            image = fields.image()
            if image in seen:
                raise fields.problem("image", f"{shown(image)} a second time", "every image on one line")
            seen.add(image)
            texts = fields.values["references"]
            if not isinstance(texts, list) or not texts:
                raise fields.problem("references", shown(texts), "a list of texts")
            for place, text in enumerate(texts):
                fields.check_text(text, f"references[{place}]")
            yield fields, image, texts
        if not seen:
            raise ImportProblem(self.references_file, None, None, "no references", "at least one line")

    def pairs(self) -> Iterator[_Pair]:
        """The candidate pairs with the record each stands in."""
        references = {image: texts for _, image, texts in self.images()}
        seen: set[str] = set()
        for fields in read_json_lines(self.pairs_file, _PAIRS[self.name], self.notes, self.encoding):
            pair = fields.name("pair", limit=SHORT_NAME_LIMIT)
            if pair in seen:
                raise fields.problem("pair", f"{shown(pair)} a second time", "every pair once")
            seen.add(pair)
            image = fields.image()
            if image not in references:
                raise fields.problem("image", shown(image), "an image of references.jsonl")
            kind = fields.name("kind")
            if kind not in PAIR_KINDS:
                raise fields.problem("kind", shown(kind), f"one of {', '.join(PAIR_KINDS)}")
            first, second = fields.text("first", "a candidate"), fields.text("second", "a candidate")
            systems = self._systems(fields, kind)
            used = TRIPLET_REFERENCES if len(references[image]) > TRIPLET_REFERENCES else None
            yield _Pair(PairRow(pair, image, kind, first, second, *systems, references=used), fields)
        if not seen:
            raise ImportProblem(self.pairs_file, None, None, "no pairs", "at least one line")

    def _systems(self, fields: Fields, kind: str) -> tuple[str, str]:
        if self.name == "abstract-50s":
            correct = fields.values["correct"]
            if correct not in ([1, 2], [1], [2]) or (correct == [1, 2]) != (kind == "HC") or kind[0] != "H":
                raise fields.problem("correct", shown(correct), "[1, 2] for HC, [1] or [2] for HI")
            return (HUMAN if 1 in correct else HUMAN_OTHER, HUMAN if 2 in correct else HUMAN_OTHER)
        numbers = []
        for column in ("first_source", "second_source"):
            number = fields.whole(column)
            if number not in _SOURCES:
                raise fields.problem(column, shown(number), "a source from 1 to 7")
            numbers.append(number)
        low, high = sorted(numbers)
        implied = {(6, 6): "HC", (6, 7): "HI"}.get((low, high), "HM" if high == 6 else "MM")
        if (high == 7 and low != 6) or implied != kind:
            raise fields.problem(
                "kind", f"{shown(kind)} with sources {numbers}", "the kind these sources make"
            )
        return _SOURCES[numbers[0]], _SOURCES[numbers[1]]


class FiftyDataset:
    """References and candidate pairs of a folder. Holds the references while it reads the pairs."""

    def __init__(self, name: str, path: Path, encoding: str | None = None) -> None:
        self.notes = ImportNotes()
        self._folder = _Folder(name, path, self.notes, encoding)

    def rows(self) -> Iterator[ReferenceRow]:
        """Captions are all it has."""
        return self.references()

    def references(self) -> Iterator[ReferenceRow]:
        register = CaptionRegister(self.notes)
        for fields, image, texts in self._folder.images():
            self.notes.count(
                "unused-references", max(0, len(texts) - TRIPLET_REFERENCES), detail=f"{TRIPLET_REFERENCES}"
            )
            for position, text in enumerate(texts):
                caption_id = f"{image}#{position}"
                register.add(fields, caption_id, image, text)
                if "\ufffd" in text:
                    self.notes.count("broken-character")
                yield ReferenceRow(image, text, caption_id, position)

    def pairs(self) -> Iterator[PairRow]:
        references = {(image, text.strip()) for _, image, texts in self._folder.images() for text in texts}
        seen: set[tuple[str, frozenset[str]]] = set()
        for pair in self._folder.pairs():
            row = pair.row
            first, second = row.first_text.strip(), row.second_text.strip()
            for text in (first, second):
                self.notes.count("candidate-is-reference", (row.image, text) in references)
            content = (row.image, frozenset((first, second)))
            self.notes.count("repeated-pair", content in seen)
            seen.add(content)
            self.notes.count("equal-candidates", first == second)
            yield row


class FiftyPairwise:
    """The pairwise votes of PASCAL-50S (V15 App. I): eleven a pair, of anonymous raters."""

    protocol: str | None = "pairwise"
    anonymous = True

    def __init__(self, name: str, path: Path, encoding: str | None = None) -> None:
        self.notes = ImportNotes()
        self._folder = _Folder(name, path, self.notes, encoding)

    def judgments(
        self, images: Container[str] | None = None, captions: Container[str] | None = None
    ) -> Iterator[JudgmentRow]:
        """A row a vote; with `images`, another image is a problem. `captions` has nothing to check."""
        for pair in self._folder.pairs():
            _known(pair, images)
            votes = _votes(pair.fields, "pairwise_votes")
            self.notes.count("fewer-votes", len(votes) < _PAIRWISE_VOTES, detail=f"{len(votes)}")
            self.notes.count("anonymous-totals")
            row = pair.row
            for place, vote in enumerate(votes, 1):
                yield JudgmentRow(
                    unit=f"{self._folder.name}-pair-{row.pair}",
                    worker=f"anon-{place}",
                    value=vote,
                    protocol="pairwise",
                    image=row.image,
                    first_text=row.first_text,
                    second_text=row.second_text,
                    kind=row.kind,
                    pair=row.pair,
                    anonymous=True,
                )

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        """None: the votes are there."""
        return iter(())


class FiftyTriplets:
    """Triplet judgments (V15 §3): ABSTRACT-50S's majority votes, PASCAL-50S's winners without votes."""

    protocol: str | None = "triplet"
    anonymous = True

    def __init__(self, name: str, path: Path, encoding: str | None = None) -> None:
        self.notes = ImportNotes()
        self._folder = _Folder(name, path, self.notes, encoding)

    def judgments(
        self, images: Container[str] | None = None, captions: Container[str] | None = None
    ) -> Iterator[JudgmentRow]:
        """One aggregated row a reference and pair, of the rater anon-1, in the references' order.

        PASCAL-50S's votes were never published, so it has none.
        """
        if self._folder.name == "pascal-50s":
            return
        references = {image: texts for _, image, texts in self._folder.images()}
        for pair in self._folder.pairs():
            _known(pair, images)
            row = pair.row
            votes = _votes(pair.fields, "triplet_votes")
            texts = references[row.image]
            if len(votes) != len(texts):
                expected = f"{len(texts)}, one for each reference of the image"
                raise pair.fields.problem("triplet_votes", counted(len(votes), "vote"), expected)
            self.notes.count("aggregated-votes", len(votes))
            for position, (vote, text) in enumerate(zip(votes, texts, strict=True)):
                reference = f"{row.image}#{position}"
                if captions is not None and reference not in captions:
                    raise pair.fields.problem("image", f"no caption {shown(reference)}", "it in the dataset")
                yield JudgmentRow(
                    unit=f"{self._folder.name}-pair-{row.pair}-reference-{position}",
                    worker="anon-1",
                    value=vote,
                    protocol="triplet",
                    image=row.image,
                    reference=reference,
                    reference_text=text,
                    first_text=row.first_text,
                    second_text=row.second_text,
                    kind=row.kind,
                    pair=row.pair,
                    anonymous=True,
                    aggregated=True,
                )

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        """PASCAL-50S's published winners; its makers broke draws at random and did not mark them."""
        if self._folder.name != "pascal-50s":
            return
        for pair in self._folder.pairs():
            _known(pair, images)
            winner = pair.fields.whole("triplet_winner", "1 or 2")
            if winner not in (1, 2):
                raise pair.fields.problem("triplet_winner", shown(winner), "1 or 2")
            self.notes.count("published-winners")
            row = pair.row
            yield WinnerRow(row.pair, row.image, row.kind, row.first_text, row.second_text, winner)


def _known(pair: _Pair, images: Container[str] | None) -> None:
    if images is not None and pair.row.image not in images:
        raise pair.fields.problem("image", shown(pair.row.image), "an image of the dataset")


def _votes(fields: Fields, column: str) -> list[int]:
    votes = fields.raw(column)
    whole = isinstance(votes, list) and all(type(vote) is int and 1 <= vote <= 2 for vote in votes)
    if not isinstance(votes, list) or not votes or not whole:
        raise fields.problem(column, shown(votes), "a list of votes that are 1 or 2")
    return votes
