"""Describe jobs and their results in words."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext

from common import amounts
from judgments.importers.notes import QUIRK_NOTES
from judgments.jobs.registry import JobKind, known_kind
from judgments.models import Job

QUEUE_TITLES = {
    "interactive": "short jobs",
    "reading": "file imports",
    "crowd": "crowd",
    "heavy": "long jobs",
}

CAPTIONS_PREFIX = "captions of "  # the start of names of result entries that end with the name of a system

# entries of a result that no page shows
HIDDEN_ENTRIES = {"what", "analysis", "created"}


def describe_work(job: Job) -> str:
    return str(known_kind(job.kind).title) or gettext(job.kind.replace("_", " ").capitalize())


def describe_job_queue(job: Job, position: int | None = None) -> str:
    queue = gettext(QUEUE_TITLES.get(job.queue, job.queue))
    return f"{queue}, {describe_queue_position(position)}" if position else queue


def describe_queue_position(position: int) -> str:
    return gettext("position %(place)s in the queue") % {"place": amounts.thousands(position)}


def describe_result(job: Job) -> list[tuple[str, str]]:
    """Return the entries of a job's result that pages show, as pairs of label and value."""
    if not isinstance(job.result, dict):
        return []
    kind = known_kind(job.kind)
    entries = {**job.result, **(job.result.get("counts") or {})}  # imports have their numbers under "counts"
    pairs = [
        (_describe_name(name, kind), _describe_value(name, value, kind))
        for name, value in entries.items()
        if name not in HIDDEN_ENTRIES and value not in (None, "") and not isinstance(value, dict | list)
    ]
    if job.result.get("created") is False:
        pairs.append((gettext("changed"), gettext("nothing, because the same file was imported before")))
    return pairs


def _describe_name(name: str, kind: JobKind) -> str:
    if name.startswith(CAPTIONS_PREFIX):
        return gettext("captions of %(system)s") % {"system": name.removeprefix(CAPTIONS_PREFIX)}
    return str(kind.result_labels.get(name, "")) or gettext(name.replace("_", " "))


def _describe_value(name: str, value: Any, kind: JobKind) -> str:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if name in kind.percent_entries:
        return amounts.percent(value)
    if isinstance(value, float):
        return amounts.thousands(round(value, 2))
    return amounts.thousands(value) if isinstance(value, int) and name != "seed" else str(value)


def describe_note(note: str) -> str:
    """Translate a note of an import, which is stored in English and may start with the name of a system."""
    for quirk in QUIRK_NOTES.values():  # sentences such as "Items without texts, left out: {n}."
        pattern = re.escape(quirk).replace(r"\{n\}", r"(?P<n>[\d,]+)")
        pattern = pattern.replace(r"\{detail\}", "(?P<detail>.*)")
        if match := re.fullmatch(f"(?P<system>.*: )?{pattern}", note, re.DOTALL):
            parts = match.groupdict(default="")
            number = parts.get("n", "").replace(",", "")
            return parts["system"] + gettext(quirk).format(
                n=amounts.thousands(int(number)) if number else "", detail=parts.get("detail", "")
            )
    return gettext(note)
