"""The folder layout of mt-metrics-eval, as one archive: sources, documents, references, outputs, people's and metrics'
scores (github.com/google-research/mt-metrics-eval, README, "File organization and naming convention").

A segment is an image whose captions are judged, a system its column of captions. Memory grows with images times
systems, not with judgments.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TextIO

import numpy as np
from django.db.models import QuerySet

from annotation.moments import Moment
from evaluation import loaders
from evaluation.errors import ExportError
from evaluation.meta_evaluation import DEFAULT_METRICS
from evaluation.metrics import score
from evaluation.records import Floats, Ints
from judgments.files import HashedFile
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Item, Output, Study, System, Unit
from judgments.services.studies import design_of
from judgments.streams import batched

ROWS_AT_ONCE = 2_000
UNITS_AT_ONCE = 500
NO_TEXT = "[No translation supplied]"  # as the reader names a line without a text
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that an archive can hold: equal files, equal archives
FIRST, SECOND = 1, 2


@dataclass(slots=True)
class Board:
    """Which caption each system gave for each image, and what people said of it.

    Attributes:
        systems, segments: row ids -> number from 0.
        caption: (systems, segments) int64; row id of the caption, 0 for none.
        total, votes: (systems, segments) float64; sum and number of what people gave.
        left_out: answers that counted on captions that stand for no system here; a comparison has two captions.
    """

    systems: dict[int, int]
    segments: dict[int, int]
    caption: Ints = field(init=False)
    total: Floats = field(init=False)
    votes: Floats = field(init=False)
    left_out: int = 0

    def __post_init__(self) -> None:
        shape = (len(self.systems), len(self.segments))
        self.caption = np.zeros(shape, dtype=np.int64)
        self.total, self.votes = np.zeros(shape), np.zeros(shape)

    def add(self, systems: Iterable[int], segment: int, total: float, votes: int) -> None:
        """People's answers on the caption that these systems gave."""
        known = list(systems)
        if not known:
            self.left_out += votes
        for system in known:
            self.total[system, segment] += total
            self.votes[system, segment] += votes

    def kept(self) -> Board:
        """Without systems of which nothing was judged, and images for which none of the others has a caption."""
        rows = np.flatnonzero(self.votes.any(axis=1))
        columns = np.flatnonzero(self.caption[rows].any(axis=0))
        found = Board(_some(self.systems, rows), _some(self.segments, columns), left_out=self.left_out)
        for name in ("caption", "total", "votes"):
            setattr(found, name, getattr(self, name)[np.ix_(rows, columns)])
        return found

    @property
    def means(self) -> Floats:
        """(systems, segments) float64, nan where nobody said anything."""
        return np.divide(self.total, self.votes, out=np.full_like(self.total, np.nan), where=self.votes > 0)


def write_mtme(study: Study, moment: Moment, file: HashedFile) -> dict[str, int]:
    """An archive with one folder, named after the study.

    Raises:
        ExportError: no caption of a system has an answer that counts, or the images have no references.
    """
    board = _board(study, moment)
    if not board.votes.any():
        raise ExportError(f"No caption of a system has an answer that counts in study {study.slug!r}.")
    languages = f"img-{design_of(study).language.replace('-', '_') or 'en'}"
    with tempfile.TemporaryDirectory(prefix="quorum-") as place:
        folder = Path(place) / study.slug
        for part in ("documents", "human-scores", f"metric-scores/{languages}", "references", "sources"):
            (folder / part).mkdir(parents=True)
        references = _write_references(study, board, folder / "references", languages)
        _write_images(study, board, folder, languages)
        taken = {f"ref{number}" for number in range(1, references + 1)}
        outputs = folder / "system-outputs" / languages
        outputs.mkdir(parents=True)
        names = _names(System.objects.filter(pk__in=board.systems).values_list("pk", "name"), taken)
        _write_outputs(board, names, outputs)
        people = {names[pk]: board.means[row] for pk, row in board.systems.items()}
        _write_scores(folder / "human-scores" / f"{languages}.{study.protocol}", people, _mean(people))
        _write_metrics(board, names, folder, languages, references)
        _pack(Path(place), file)
    return {
        "systems": len(board.systems),
        "segments": len(board.segments),
        "references": references,
        "scored": int((board.votes > 0).sum()),
        "left_out": board.left_out,
    }


def judged_items(study: Study) -> QuerySet[Item]:
    """The images that are judged, in their order."""
    units = Unit.objects.filter(study=study, control=False)
    return Item.objects.filter(pk__in=units.values("item")).order_by("position", "pk")


def _board(study: Study, moment: Moment) -> Board:
    items = judged_items(study)
    systems = System.objects.filter(dataset=study.dataset_id).order_by("name", "pk")
    board = Board(
        _numbered(systems.values_list("pk", flat=True)), _numbered(items.values_list("pk", flat=True))
    )
    # of several captions of an image the one that the system ranks first
    outputs = Output.objects.filter(system__in=board.systems).order_by("-rank", "-pk")
    for system, item, caption in outputs.values_list("system", "item", "caption").iterator(ROWS_AT_ONCE):
        if item in board.segments:
            board.caption[board.systems[system], board.segments[item]] = caption
    pairs = KINDS[study.protocol].compares_pairs
    if pairs:
        _take_from_pairs(study, board)
    for some in batched(loaders.counted_answers(study, moment), UNITS_AT_ONCE):
        answers = {
            unit: [moment.decisions[unit]] * max(1, len(given)) if unit in moment.decisions else given
            for unit, given in some
        }
        (_count_pairs if pairs else _count_captions)(board, answers)
    return board.kept()


def _take_from_pairs(study: Study, board: Board) -> None:
    """Where a system has no output, the caption that a pair shows as its own."""
    rows = CandidatePair.objects.filter(study=study).order_by("-position", "-pk")
    fields = ("item", "first", "second", "first_system", "second_system")
    missing = board.caption == 0
    for item, first, second, *systems in rows.values_list(*fields).iterator(ROWS_AT_ONCE):
        for system, caption in zip(systems, (first, second), strict=True):
            place = board.systems.get(system), board.segments.get(item)
            if None not in place and missing[place]:
                board.caption[place] = caption  # the first pair's, which comes last


def _count_captions(board: Board, answers: Mapping[int, Sequence[int]]) -> None:
    """Answers on one caption of one image: their mean is its score."""
    units = Unit.objects.filter(pk__in=answers).values_list("pk", "item", "first")
    for pk, item, caption in units:
        segment = board.segments[item]
        systems = np.flatnonzero(board.caption[:, segment] == caption).tolist()
        board.add(systems, segment, float(sum(answers[pk])), len(answers[pk]))


def _count_pairs(board: Board, answers: Mapping[int, Sequence[int]]) -> None:
    """Answers on two captions of one image: the share of its votes that a caption won is its score."""
    units = Unit.objects.filter(pk__in=answers).values_list(
        "pk", "pair__item", "pair__first", "pair__second", "pair__first_system", "pair__second_system"
    )
    for pk, item, first, second, *systems in units:
        segment, given = board.segments[item], answers[pk]
        for system, caption, own in zip(systems, (first, second), (FIRST, SECOND), strict=True):
            row = board.systems.get(system)
            if row is None or board.caption[row, segment] != caption:
                board.left_out += len(given)
            else:
                board.add([row], segment, float(sum(one == own for one in given)), len(given))


def _numbered(rows: Iterable[int]) -> dict[int, int]:
    return {pk: number for number, pk in enumerate(rows)}


def _some(numbers: Mapping[int, int], kept: Ints) -> dict[int, int]:
    rows = list(numbers)
    return _numbered(rows[place] for place in kept.tolist())


def _line(text: str | None) -> str:
    """A text on one line of its own."""
    return NO_TEXT if text is None else " ".join(text.split())


def _names(rows: Iterable[tuple[int, str]], taken: Iterable[str] = ()) -> dict[int, str]:
    """Row id -> a name without blanks and slashes that nothing else has."""
    used, found = set(taken), {}
    for pk, text in rows:
        name = "_".join(text.replace("/", " ").replace("\\", " ").split()).lstrip(".") or "unnamed"
        number = 1
        while (given := name if number == 1 else f"{name}_{number}") in used:
            number += 1
        used.add(given)
        found[pk] = given
    return found


def _write_images(study: Study, board: Board, folder: Path, languages: str) -> None:
    """An image a line; each is a document, its split the domain."""
    rows = judged_items(study).values_list("pk", "name", "split").iterator(ROWS_AT_ONCE)
    found = [row for row in rows if row[0] in board.segments]
    names = _names((pk, name) for pk, name, _ in found)
    with ExitStack() as stack:
        sources = stack.enter_context(_text(folder / "sources" / f"{languages}.txt"))
        documents = stack.enter_context(_text(folder / "documents" / f"{languages}.docs"))
        for pk, name, split in found:
            sources.write(f"{_line(name)}\n")
            documents.write(f"{'_'.join(split.split()) or 'all'}\t{names[pk]}\n")


def _write_references(study: Study, board: Board, folder: Path, languages: str) -> int:
    """A file for the first reference of each image, one for the second and so on; how many."""
    rows = (
        Caption.objects.filter(item__in=judged_items(study).values("pk"), role=Caption.Role.REFERENCE)
        .order_by("item__position", "item_id", "position", "pk")
        .values_list("item_id", "text")
    )
    most, written = 0, dict.fromkeys(board.segments, 0)
    for item, group in groupby(rows.iterator(ROWS_AT_ONCE), key=itemgetter(0)):
        if item in written:
            written[item] = sum(1 for _ in group)
            most = max(most, written[item])
    if not most:
        raise ExportError(
            f"mt-metrics-eval wants references, and the judged images of study {study.slug!r} have none."
        )
    texts = (text for item, text in rows.iterator(ROWS_AT_ONCE) if item in written)
    with ExitStack() as stack:
        files = [
            stack.enter_context(_text(folder / f"{languages}.ref{number}.txt"))
            for number in range(1, most + 1)
        ]
        for item in board.segments:
            for number, file in enumerate(files):
                text = next(texts) if number < written[item] else None
                file.write(f"{_line(text)}\n")
    return most


def _texts(captions: Ints) -> Iterator[str | None]:
    """The texts of captions by row id, in their order; None for 0."""
    for some in batched(captions.tolist(), ROWS_AT_ONCE // 4):
        found = dict(Caption.objects.filter(pk__in=set(some)).values_list("pk", "text"))
        yield from (found.get(pk) for pk in some)


def _write_outputs(board: Board, names: Mapping[int, str], folder: Path) -> None:
    for pk, row in board.systems.items():
        with _text(folder / f"{names[pk]}.txt") as file:
            file.writelines(f"{_line(text)}\n" for text in _texts(board.caption[row]))


def _mean(segments: Mapping[str, Floats]) -> dict[str, float]:
    """A system's score: the mean of its segments'."""
    return {
        name: float(np.nanmean(scores)) if np.isfinite(scores).any() else float("nan")
        for name, scores in segments.items()
    }


def _write_scores(stem: Path, segments: Mapping[str, Floats], systems: Mapping[str, float]) -> None:
    """``STEM.seg.score`` and ``STEM.sys.score``: system, tab, score; None where there is none."""
    with _text(stem.with_name(f"{stem.name}.seg.score")) as file:
        for name, scores in segments.items():
            file.writelines(f"{name}\t{_cell(one)}\n" for one in scores.tolist())
    with _text(stem.with_name(f"{stem.name}.sys.score")) as file:
        file.writelines(f"{name}\t{_cell(one)}\n" for name, one in systems.items())


def _cell(value: float) -> str:
    return "None" if np.isnan(value) else repr(value)


def _write_metrics(
    board: Board, names: Mapping[int, str], folder: Path, languages: str, references: int
) -> None:
    """Each metric against all references, documents being the images; 0 where a system has no caption."""
    files = (folder / "references" / f"{languages}.ref{number}.txt" for number in range(1, references + 1))
    kept = [[line for line in lines if line is not None] for lines in zip(*map(_read, files), strict=True)]
    segments: dict[str, dict[str, Floats]] = {name: {} for name in DEFAULT_METRICS}
    systems: dict[str, dict[str, float]] = {name: {} for name in DEFAULT_METRICS}
    usable = np.array([bool(lines) for lines in kept])
    documents = [lines for lines in kept if lines]
    for pk, row in board.systems.items():
        there = np.flatnonzero((board.caption[row] != 0) & usable)
        found = score(
            [text or "" for text in _texts(board.caption[row][there])],
            [kept[place] for place in there.tolist()],
            DEFAULT_METRICS,
            document_corpus=documents if len(there) < len(documents) else None,
        )
        for name, one in found.scores.items():
            scores = np.zeros(len(kept))
            scores[there] = one.images
            segments[name][names[pk]], systems[name][names[pk]] = scores, one.corpus
    for name in DEFAULT_METRICS:
        _write_scores(folder / "metric-scores" / languages / f"{name}-all", segments[name], systems[name])


def _read(path: Path) -> list[str | None]:
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [None if line == NO_TEXT else line for line in lines]


def _text(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")


def _pack(folder: Path, file: HashedFile) -> None:
    """All files below ``folder`` in the order of their names."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            with archive.open(info, "w", force_zip64=True) as member, path.open("rb") as held:
                shutil.copyfileobj(held, member, 1 << 20)
