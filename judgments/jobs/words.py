"""Describe jobs and their results in words."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext

from common import amounts
from judgments.importers.notes import QUIRK_NOTES
from judgments.models import Job

JOB_TITLES = {
    "compile": "Compiling metrics and statistics (only once)",
    "understand_upload": "Check of an upload",
    "import_dataset": "Import of a dataset",
    "import_candidates": "Import of candidates",
    "import_rankings": "Import of rankings",
    "import_scores": "Import of scores",
    "import_predictions": "Import of predicted distributions",
    "import_template": "Import of a HIT template",
    "import_judgments": "Import of judgments",
    "scale_pictures": "Scaling of pictures",
    "generate_hits": "Generating pages of work",
    "rehearse": "Rehearsal",
    "sync_crowd": "Comparison with the crowd",
    "aggregate": "Consensus and agreement",
    "evaluate": "Comparison of metrics with the consensus",
    "export": "Export",
    "plan_power": "Planning of pairs and votes",
    "ask_judge": "Asking a model",
    "compare_judges": "Comparison of judges with people",
    "board": "Results for the dashboard",
    "figures": "Results for a study's pages",
    "verify_release": "Verification of a release",
    "compare_metrics": "Comparison of two metrics",
    "compare_releases": "Comparison of releases",
    "select_items": "Choice of items",
    "weigh_back": "Estimates for all items",
    "choice_savings": "Measurement of savings by item selection",
    "read_panel_list": "Check of a participant list from a panel",
    "submit_captions": "Submission to a challenge",
    "finish_erasure": "Removal of files that name an erased participant",
    "end_retention": "Removal of participants' identities",
}

RESULT_LABELS = {
    "hits": "pages of work completed",
    "returned": "pages of work returned",
    "hours": "simulated hours of work",
    "recovered": "share of right answers that the consensus found",
    "undecided": "items with a tie",
    "controls_careful": "share of check questions that careful participants answered right",
    "controls_spammers": "share of check questions that spammers answered right",
}

# results that are shares; they are shown in percent
SHARES = {"recovered", "undecided", "controls_careful", "controls_spammers"}

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
    return gettext(JOB_TITLES.get(job.kind, job.kind.replace("_", " ").capitalize()))


def describe_job_queue(job: Job, position: int | None = None) -> str:
    queue = gettext(QUEUE_TITLES.get(job.queue, job.queue))
    return f"{queue}, {describe_queue_position(position)}" if position else queue


def describe_queue_position(position: int) -> str:
    return gettext("position %(place)s in the queue") % {"place": amounts.thousands(position)}


def describe_result(job: Job) -> list[tuple[str, str]]:
    """Return the entries of a job's result that pages show, as pairs of label and value."""
    if not isinstance(job.result, dict):
        return []
    entries = {**job.result, **(job.result.get("counts") or {})}  # imports have their numbers under "counts"
    pairs = [
        (_describe_name(name), _describe_value(name, value))
        for name, value in entries.items()
        if name not in HIDDEN_ENTRIES and value not in (None, "") and not isinstance(value, dict | list)
    ]
    if job.result.get("created") is False:
        pairs.append((gettext("changed"), gettext("nothing, because the same file was imported before")))
    return pairs


def _describe_name(name: str) -> str:
    if name.startswith(CAPTIONS_PREFIX):
        return gettext("captions of %(system)s") % {"system": name.removeprefix(CAPTIONS_PREFIX)}
    return gettext(RESULT_LABELS.get(name, name.replace("_", " ")))


def _describe_value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if name in SHARES:
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
