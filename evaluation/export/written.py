"""Written captions as a dataset file, which ``import_dataset jsonl`` reads back."""

from __future__ import annotations

import json

from annotation.moments import Moment
from evaluation.export.captions import pseudonyms, written_captions
from judgments.files import HashedFile
from judgments.models import Study


def write_captions(study: Study, moment: Moment, file: HashedFile) -> dict[str, int]:
    """JSON lines: image, caption, caption_id, split where there is one, and the writer under a pseudonym."""
    names = pseudonyms(study, moment)
    counts = {"captions": 0, "writers": len(names)}
    for one in written_captions(study, moment):
        row = {
            "image": one.image,
            "caption": one.text,
            "caption_id": one.key,
            **({"split": one.split} if one.split else {}),
            "worker": names[one.worker_id],
        }
        file.write_text(json.dumps(row, ensure_ascii=False, separators=(", ", ": ")) + "\n")
        counts["captions"] += 1
    return counts
