"""The formats of ``export_judgments``, declared as data: what each is, holds, and is written by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from evaluation.errors import ExportError
from evaluation.export import consensus, gold, results, tables
from evaluation.export.parts import Encoding
from evaluation.export.written import write_captions
from judgments.files import HashedFile
from judgments.kinds import KINDS
from judgments.models import Study

TASKS = ("annotation", "search")


@dataclass(frozen=True, slots=True)
class Options:
    """What an export is asked for besides its format.

    Attributes:
        task: qrels: ``annotation`` asks with images, ``search`` with captions.
        revisions: every judgment: whether answers that were revised are written as well.
    """

    task: str = TASKS[0]
    revisions: bool = False


Write = Callable[[Study, HashedFile, Options], dict[str, int]]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Attributes:
        name: what ``--format`` takes.
        suffix: of a file whose name we choose.
        content_type: for downloads.
        what: one line for people.
        fits: the sentence why it cannot hold a study, or "".
        write: (study, file, options) -> counts; None where the file is written in parts.
        encoding: makes how it is written in parts, for what holds every judgment.
    """

    name: str
    suffix: str
    content_type: str
    what: str
    fits: Callable[[Study], str]
    write: Write | None = None
    encoding: Callable[[], Encoding] | None = None


def _parquet() -> Encoding:
    from evaluation.export.parquet import ParquetParts

    return ParquetParts()


# which of its two files holds answers on a scale
FLICKR8K = {(0, 1): consensus.write_flickr8k_crowd, (1, 2, 3, 4): consensus.write_flickr8k_expert}


def _flickr8k(study: Study, file: HashedFile, options: Options) -> dict[str, int]:
    return FLICKR8K[KINDS[study.protocol].values](study, file)


def _any(study: Study) -> str:
    return ""


def _captions_of_images(study: Study) -> str:
    kind = KINDS[study.protocol]
    if kind.compares_pairs or not kind.values:
        return "it holds judgments of one caption of one image (relevance, graded, slider)"
    return ""


def _as_flickr8k(study: Study) -> str:
    if KINDS[study.protocol].values not in FLICKR8K:
        return "its files hold yes and no, or grades from 1 to 4 (relevance, graded)"
    return _captions_of_images(study)


def _written(study: Study) -> str:
    return "" if KINDS[study.protocol].writes_captions else "it holds captions that workers wrote (caption)"


def _closed(study: Study) -> str:
    return "" if KINDS[study.protocol].values else "it holds answers from a fixed scale"


def _own(name: str, why: str, study: Study) -> str:
    return "" if name in KINDS[study.protocol].own_formats else why


FORMATS = {
    one.name: one
    for one in (
        Format("jsonl", "jsonl", "application/jsonl", "every judgment, one JSON object a line", _any,
               encoding=tables.JsonLines),
        Format("csv", "csv", "text/csv; charset=utf-8", "every judgment, for spreadsheet programs", _any,
               encoding=tables.CsvLines),
        Format("parquet", "parquet", "application/vnd.apache.parquet", "every judgment, typed columns", _any,
               encoding=_parquet),
        Format("qrels", "qrels.txt", "text/plain; charset=utf-8", "consensus as TREC relevance judgments",
               _captions_of_images,
               lambda study, file, options: consensus.write_qrels(study, file, task=options.task)),
        Format("flickr8k", "flickr8k.txt", "text/plain; charset=utf-8",
               "Flickr8k's crowd file (relevance) or expert file (graded)", _as_flickr8k, _flickr8k),
        Format("captions", "captions.jsonl", "application/jsonl", "the captions that were written, as a dataset file",
               _written, lambda study, file, options: write_captions(study, file)),
        Format("reliability", "reliability.csv", "text/csv; charset=utf-8",
               "workers x units, as agreement is computed from", _closed,
               lambda study, file, options: consensus.write_reliability(study, file)),
        Format("mturk", "mturk.csv", "text/csv; charset=utf-8",
               "every assignment, in the columns of Mechanical Turk's result files", results.why_not,
               lambda study, file, options: results.write_results(study, file)),
        Format("keywords", "keywords.jsonl", "application/jsonl", "how many people gave each keyword, an image a line",
               partial(_own, "keywords", "it holds keywords"),
               lambda study, file, options: gold.write_keywords(study, file)),
        Format("grounding", "grounding.jsonl", "application/jsonl",
               "links of words to boxes by majority, a description a line",
               partial(_own, "grounding", "it holds links from words to boxes"),
               lambda study, file, options: gold.write_grounding(study, file)),
    )
}  # fmt: skip


def format_named(name: str) -> Format:
    """The format of this name.

    Raises:
        ExportError: there is none; the message names the nearest one.
    """
    if name not in FORMATS:
        near = get_close_matches(name, FORMATS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ExportError(f"There is no export format {name!r}; {hint}there are {', '.join(FORMATS)}.")
    return FORMATS[name]


def formats_for(study: Study) -> list[Format]:
    """The formats that can hold ``study``, for download buttons."""
    return [one for one in FORMATS.values() if not one.fits(study)]


def check_fits(study: Study, chosen: Format) -> None:
    """Refuse a study that the format cannot hold.

    Raises:
        ExportError: with the reason.
    """
    why = chosen.fits(study)
    if why:
        raise ExportError(
            f"Format {chosen.name} does not fit study {study.slug!r} ({study.protocol}): {why}."
        )
