"""The export format of marked errors."""

from __future__ import annotations

from typing import Any

from contrib.error_spans.results.segments import marks_errors
from evaluation.data.export.formats import JSONL, Format
from evaluation.data.export.formats.consensus import ConsensusEncoding, caption_fields
from judgments.kinds import Consensus
from judgments.models import Study, Unit


class SpanLines(ConsensusEncoding):
    """Encode the consensus of each unit as a line: a text, its score, and the errors that the majority marked."""

    count_name = "texts"  # of the lines, in the manifest

    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any]:
        fields = caption_fields(unit, consensus)
        text = fields["caption"]  # a span about a missing part of it has no offsets
        return fields | {
            "score": consensus.value,
            "spans": [
                {**span, "text": text[span["start"] : span["end"]] if span["end"] else ""}
                for span in consensus.answer["spans"]
            ],
        }


def _why_unfit(study: Study) -> str:
    """Return "" if the study marks errors, or else what this format holds, as a clause about the format."""
    return "" if marks_errors(study) else "it holds marked errors"


SPANS = Format(
    name="spans",
    suffix="spans.jsonl",
    content_type=JSONL,
    description="Marked errors for programs: errors that the majority marked, and the mean score, one text per line",
    why_unsuitable=_why_unfit,
    encoding=SpanLines,
)
