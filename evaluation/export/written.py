"""Written captions as a dataset file, which ``import_dataset jsonl`` reads back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from common.files import HashedFile
from common.streams import batched
from evaluation.export.captions import pseudonyms, written_captions
from evaluation.export.rows import UNITS_AT_ONCE
from evaluation.export.work import Encoding, Work


class WrittenCaptions(Encoding):
    """JSON lines: image, caption, caption_id, split where there is one, and the writer under a pseudonym.

    Parts hold the row ids of the writers: a pseudonym is a number among all of them.
    """

    suffix = "rows"
    told = "captions"
    counts = {"captions": 0, "writers": 0}

    def write_part(self, work: Work, file: HashedFile) -> None:
        """What was written of the next units."""
        for some in batched(work.pieces, UNITS_AT_ONCE):
            for one in written_captions(work.study, work.moment, units=some):
                row = {
                    "image": one.image,
                    "caption": one.text,
                    "caption_id": one.key,
                    **({"split": one.split} if one.split else {}),
                    "worker": one.worker_id,
                }
                _write(file, row)
                work.counts["captions"] += 1

    def join(self, work: Work, file: HashedFile) -> None:
        """With pseudonyms."""
        names = pseudonyms({row["worker"] for row in _rows(work, self.suffix)})
        for row in _rows(work, self.suffix):
            _write(file, row | {"worker": names[row["worker"]]})
        work.counts["writers"] = len(names)


def _rows(work: Work, suffix: str) -> Iterator[dict[str, Any]]:
    for path in work.parts(suffix):
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _write(file: HashedFile, row: dict[str, Any]) -> None:
    file.write_text(json.dumps(row, ensure_ascii=False, separators=(", ", ": ")) + "\n")
