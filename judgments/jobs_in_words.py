"""What each kind of job is called where people read it."""

from __future__ import annotations

from judgments.models import Job

WORDS = {
    "import_dataset": "Import of a dataset",
    "import_candidates": "Import of candidates",
    "import_judgments": "Import of judgments",
    "generate_hits": "Generating HITs",
    "rehearse": "Rehearsal",
    "aggregate": "Consensus and agreement",
    "evaluate": "Metrics against the consensus",
    "export": "Export",
}


def work_in_words(job: Job) -> str:
    """What the job does."""
    return WORDS.get(job.kind, job.kind.replace("_", " ").capitalize())
