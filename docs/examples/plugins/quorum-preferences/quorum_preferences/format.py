"""An export format for training models on preferences: a JSON line for each pair that a majority decided.

For example, {"prompt": "dog.jpg", "chosen": "A dog runs.", "rejected": "A cat.", "people": 3, "share": 1.0}.
"""

from typing import Any

from evaluation.data.export.formats import Format
from evaluation.data.export.formats.consensus import ConsensusEncoding
from judgments.kinds import KINDS, Consensus
from judgments.models import Study, Unit
from quorum.statistics.aggregation.pair_answers import FIRST, SECOND


class PreferenceLines(ConsensusEncoding):
    count_name = "pairs"

    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any] | None:
        if consensus.value not in (FIRST, SECOND) or not (unit.first and unit.second):
            return None  # a tie, or the texts were deleted
        texts = unit.first.text, unit.second.text
        chosen, rejected = texts if consensus.value == FIRST else reversed(texts)
        return {
            "prompt": unit.item.name,
            "chosen": chosen,
            "rejected": rejected,
            "people": consensus.n,
            "share": consensus.share,
        }


def why_not_available(study: Study) -> str:
    """Return why the format cannot represent a study; "" if it can."""
    if KINDS[study.protocol].compares_pairs:
        return ""
    return "it holds choices between two texts (triplet, pairwise)"


PREFERENCES = Format(
    "preferences",
    "preferences.jsonl",
    "application/jsonl",
    "Preference pairs for training: the text that most people chose, and the other",
    why_not_available,
    PreferenceLines,
)
