"""What is done to a study before it is open."""

from __future__ import annotations

from django.contrib.auth.models import User

from common.errors import WrongState
from judgments.models import Study
from judgments.studies.generation import Progress, generate_hits
from judgments.study_operations import Outcome, operation


def _must_be_a_draft(study: Study) -> None:
    if study.state != Study.State.DRAFT:
        raise WrongState(f"Study {study.slug!r} is {study.state}; HITs are generated once, from a draft.")


@operation("generate", "Draw the HITs", job="generate_hits", check=_must_be_a_draft)
def generate(*, study: Study, by: User | None, progress: Progress) -> Outcome:
    """Draws units, controls and HITs in the background; follow the job."""
    batch = generate_hits(study=study, progress=progress)
    return Outcome(
        f"Study {study.slug}: {len(batch.hits):,} HITs, {batch.unit_count:,} units, "
        f"{batch.control_count:,} control items.",
        batch,
    )
