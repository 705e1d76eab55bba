"""The export format of mt-metrics-eval, and the studies that it can represent."""

from __future__ import annotations

from evaluation.data.export.encodings import Encoding
from evaluation.data.export.formats import Format
from judgments.kinds import KINDS
from judgments.models import Study, System


def _make_encoding() -> Encoding:
    from contrib.mtme.encoding import MtmeEncoding  # imported lazily, since it loads the metrics' compiler

    return MtmeEncoding()


def _why_not_exported(study: Study) -> str:
    """Return what the format needs and the study lacks, for an error message; "" if it lacks nothing."""
    kind = KINDS[study.protocol]  # if it judges one caption, but not by fixed values, its answers mark errors
    if not (kind.values or kind.judges_one_caption or kind.names_best):
        return (
            "it holds answers from a fixed scale on systems' captions (relevance, graded, slider, triplet, pairwise), "
            "the best of several (best-worst), or marked errors (spans)"
        )
    if not System.objects.of_study(study).captioners().exists():
        return f"it holds judgments of systems, and dataset {study.dataset.name!r} has none"
    return ""


MTME = Format(
    name="mtme",
    suffix="mtme.zip",
    content_type="application/zip",
    description="Archive for mt-metrics-eval: files in the folder layout of this program",
    why_unsuitable=_why_not_exported,
    encoding=_make_encoding,
)
