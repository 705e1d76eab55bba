"""The judgments of a release: under pseudonyms, with times cut to the minute, and without identifying text."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from annotation.models import Worker
from annotation.snapshots import Snapshot
from common.rows.batches import batched
from evaluation.data.export.formats.judgment_rows import JudgmentRows
from evaluation.data.export.snapshots import take_snapshot
from evaluation.data.judgment_sets.loaders import ROWS_PER_BATCH
from evaluation.data.releases.rows import ANONYMOUS_PREFIX
from evaluation.data.releases.tables import TEXTS, TIMES, to_the_minute
from judgments.models import Study, Unit
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts

PSEUDONYM_DIGITS = 16  # hexadecimal digits of a pseudonym
MAIL_ADDRESS = re.compile(r"[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+")
WEB_ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
LONG_NUMBER = re.compile(r"\+?\d[\d \-/()]{4,}\d")
SCRUBBED_TEXT = "[…]"  # stands for what is removed


@declare  # so that `map_parts` can send it to other processes
@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """A mapping from names to pseudonyms.

    Within a release, a name always has the same pseudonym. A pseudonym cannot be traced to the name without the salt.
    """

    salt: bytes

    def worker(self, name: str, *, anonymous: bool) -> str:
        return f"{ANONYMOUS_PREFIX if anonymous else 'p-'}{self._digest('worker', name)}"

    def assignment(self, name: str) -> str:
        return f"a-{self._digest('assignment', name)}"

    def _digest(self, kind: str, name: str) -> str:
        digest = hmac.new(self.salt, f"{kind}\n{name}".encode(), hashlib.sha256)
        return digest.hexdigest()[:PSEUDONYM_DIGITS]


def scrub_comment(comment: str, name: str) -> str:
    """Return a comment without the author's name, addresses and long numbers."""
    for pattern in (MAIL_ADDRESS, WEB_ADDRESS, LONG_NUMBER):
        comment = pattern.sub(SCRUBBED_TEXT, comment)
    return re.sub(re.escape(name), SCRUBBED_TEXT, comment, flags=re.IGNORECASE) if name else comment


def released_judgments(
    study: Study, pseudonyms: Pseudonyms, *, texts: bool, comments: bool
) -> Iterator[dict[str, Any]]:
    """Yield the current judgments, ordered by unit and pseudonym. This order reveals nothing about people.

    ``texts`` and ``comments`` say whether to include texts of captions, and participants' comments without names.
    """
    anonymous_names = set(Worker.objects.filter(study=study, anonymous=True).values_list("name", flat=True))
    source = _ReleaseSource(study, pseudonyms, anonymous_names, texts, comments, moment=take_snapshot(study))
    units = Unit.objects.filter(study=study).order_by("position", "pk").values_list("pk", flat=True)
    batches = list(batched(units.iterator(ROWS_PER_BATCH), ROWS_PER_BATCH))
    for rows in map_parts(_read_batch, source, batches):
        yield from rows


@declare
@dataclass(frozen=True, slots=True)
class _ReleaseSource:
    """The judgments to release, and how their rows are changed. All processes share it.

    ``anonymous_names`` are names that identify nobody. ``moment`` is the snapshot of the judgments.
    """

    study: Study
    pseudonyms: Pseudonyms
    anonymous_names: set[str]
    texts: bool
    comments: bool
    moment: Snapshot


@declare
def _read_batch(source: _ReleaseSource, unit_ids: Sequence[int]) -> list[dict[str, Any]]:
    """Return the released rows of the units."""
    rows = JudgmentRows(source.study, source.moment, unit_ids=unit_ids)
    released_rows: list[dict[str, Any]] = []
    for _, unit_rows in groupby(rows, key=lambda row: row["unit"]):
        released_rows += sorted(
            (_released_judgment(row, source) for row in unit_rows),
            key=lambda row: (row["worker"], row["assignment"], row["submitted_at"] or ""),
        )
    return released_rows


def _released_judgment(row: dict[str, Any], source: _ReleaseSource) -> dict[str, Any]:
    """Change a row of ``JudgmentRows`` into a row of the release, and return it."""
    name = row["worker"]
    row["worker"] = source.pseudonyms.worker(name, anonymous=name in source.anonymous_names)
    row["assignment"] = source.pseudonyms.assignment(row["assignment"])
    row |= {column: to_the_minute(row[column]) for column in TIMES}
    row["comment"] = scrub_comment(row["comment"], name) if source.comments and row["comment"] else None
    if not source.texts:
        row |= dict.fromkeys(TEXTS)
    row.pop("content", None)  # units.jsonl has it
    row.pop("answers", None)  # the settings of the bundle have it
    row.pop("systems", None)  # pairs.jsonl and proposals.jsonl have them
    return row
