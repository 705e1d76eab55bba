"""The formats of ``export_judgments``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from evaluation.errors import ExportError
from evaluation.export.encoding import Encoding
from evaluation.export.formats import consensus
from evaluation.export.formats import judgments as tables
from evaluation.export.formats import mturk as results
from evaluation.export.formats.consensus import WrittenCaptions
from evaluation.export.formats.reliability import Reliability
from judgments.kinds import KINDS
from judgments.models import Study, System

TASKS = ("annotation", "search")


@dataclass(frozen=True, slots=True)
class Options:
    """Options of an export besides its format; ``task`` is for qrels, ``scale`` the allowed answers."""

    task: str = TASKS[0]
    scale: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Attributes:
        what: one line for people.
        fits: returns why it cannot represent a study, or "".
    """

    name: str
    suffix: str
    content_type: str
    what: str
    fits: Callable[[Study], str]
    encoding: Callable[[Options], Encoding]


def _parquet(options: Options) -> Encoding:
    from evaluation.export.formats.judgments import ParquetParts

    return ParquetParts()


def _mtme(options: Options) -> Encoding:
    from evaluation.export.formats.mtme import (
        Mtme,  # imported lazily, with the metrics' compiler
    )

    return Mtme()


# The file that holds answers on a scale.
FLICKR8K = {(0, 1): consensus.Flickr8kCrowd, (1, 2, 3, 4): consensus.Flickr8kExpert}


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


def _of_systems(study: Study) -> str:
    if not KINDS[study.protocol].values:
        return "it holds answers from a fixed scale on systems' captions (relevance, graded, slider, triplet, pairwise)"
    if not System.objects.filter(dataset=study.dataset_id).captioners().exists():
        return f"it holds judgments of systems, and dataset {study.dataset.name!r} has none"
    return ""


def _own(name: str, why: str, study: Study) -> str:
    return "" if name in KINDS[study.protocol].own_formats else why


FORMATS = {
    one.name: one
    for one in (
        Format(
            "jsonl",
            "jsonl",
            "application/jsonl",
            "every judgment, one JSON object a line",
            _any,
            lambda options: tables.JsonLines(),
        ),
        Format(
            "csv",
            "csv",
            "text/csv; charset=utf-8",
            "every judgment, for spreadsheet programs",
            _any,
            lambda options: tables.CsvLines(),
        ),
        Format(
            "parquet",
            "parquet",
            "application/vnd.apache.parquet",
            "every judgment, typed columns",
            _any,
            _parquet,
        ),
        Format(
            "qrels",
            "qrels.txt",
            "text/plain; charset=utf-8",
            "consensus as TREC relevance judgments",
            _captions_of_images,
            lambda options: consensus.Qrels(options.task),
        ),
        Format(
            "flickr8k",
            "flickr8k.txt",
            "text/plain; charset=utf-8",
            "Flickr8k's crowd file (relevance) or expert file (graded)",
            _as_flickr8k,
            lambda options: FLICKR8K[options.scale](),
        ),
        Format(
            "captions",
            "captions.jsonl",
            "application/jsonl",
            "the captions that were written, as a dataset file",
            _written,
            lambda options: WrittenCaptions(),
        ),
        Format(
            "reliability",
            "reliability.csv",
            "text/csv; charset=utf-8",
            "workers x units, as agreement is computed from",
            _closed,
            lambda options: Reliability(),
        ),
        Format(
            "mturk",
            "mturk.csv",
            "text/csv; charset=utf-8",
            "every assignment, in the columns of Mechanical Turk's result files",
            results.why_not,
            lambda options: results.Results(),
        ),
        Format(
            "mtme",
            "mtme.zip",
            "application/zip",
            "the folder layout of mt-metrics-eval, as an archive",
            _of_systems,
            _mtme,
        ),
        Format(
            "keywords",
            "keywords.jsonl",
            "application/jsonl",
            "how many people gave each keyword, an image a line",
            partial(_own, "keywords", "it holds keywords"),
            lambda options: consensus.KeywordLines(),
        ),
        Format(
            "grounding",
            "grounding.jsonl",
            "application/jsonl",
            "links of words to boxes by majority, a description a line",
            partial(_own, "grounding", "it holds links from words to boxes"),
            lambda options: consensus.GroundingLines(),
        ),
    )
}


def format_named(name: str) -> Format:
    """Return the format of this name.

    Raises:
        ExportError: there is none; the message names the nearest.
    """
    if name not in FORMATS:
        near = get_close_matches(name, FORMATS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ExportError(f"There is no export format {name!r}; {hint}there are {', '.join(FORMATS)}.")
    return FORMATS[name]


def formats_for(study: Study) -> list[Format]:
    return [one for one in FORMATS.values() if not one.fits(study)]


def check_fits(study: Study, chosen: Format) -> None:
    """Raise ExportError if the format cannot represent the study."""
    why = chosen.fits(study)
    if why:
        raise ExportError(
            f"Format {chosen.name} does not fit study {study.slug!r} ({study.protocol}): {why}."
        )
