"""Export the consensus of open answers: keywords, and links from words to boxes, with one line for each unit."""

from __future__ import annotations

from typing import Any

from evaluation.data.export.formats.consensus import ConsensusEncoding, caption_fields
from judgments.kinds import Consensus
from judgments.kinds.grounding import linked_box_indices, linked_boxes
from judgments.kinds.keywords import sum_by_stem
from judgments.models import Unit


class KeywordLines(ConsensusEncoding):
    """Write the number of workers who gave each keyword. A unit's consensus is ``{"dog": 3, "beach": 1}``."""

    count_name = "images"  # of lines, in the manifest

    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any]:
        return {
            "image": unit.item.name,
            "unit": unit.key,
            "workers": consensus.n,
            "keywords": consensus.answer,
            "stems": sum_by_stem(consensus.answer),
        }


class GroundingLines(ConsensusEncoding):
    """Write the links that the majority chose. A unit's consensus is ``[{"word": 3, "box": "b1"}]``.

    The number of votes for this link is ``consensus.votes["3:b1"]``.
    """

    count_name = "descriptions"  # of lines, in the manifest

    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any]:
        labels = {box["id"]: box["label"] for box in unit.content["boxes"]}
        fields = caption_fields(unit, consensus)
        tokens = fields["caption"].split()
        return fields | {
            "tie": consensus.tie,
            "links": [
                {
                    **link,
                    "text": tokens[link["word"]],
                    "label": labels[link["box"]],
                    "votes": consensus.votes[f"{link['word']}:{link['box']}"],
                }
                for link in consensus.answer
            ],
            "boxes": linked_boxes(consensus.answer),
            "box_numbers": linked_box_indices(consensus.answer, unit.content["boxes"]),
        }
