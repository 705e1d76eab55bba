"""The jobs of the evaluation server: read captions, score submissions, rank them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, BinaryIO

from common.audit import acting_person
from common.incoming import READ_SIZE
from contrib.challenges.caption_files import read_captions
from contrib.challenges.challenges import find_challenge
from contrib.challenges.scores.scoring import compute_scores, store_scores
from contrib.challenges.scores.standings import compute_standing, store_standing
from contrib.challenges.submissions import SubmissionDetails, image_positions, store_captions
from judgments.datasets import uploads
from judgments.jobs.runs import JobRun
from judgments.models import Job


def submit_captions(run: JobRun, *, upload: str, challenge: str, about: dict[str, Any]) -> None:
    """Read a large file of captions and store the submission. ``about`` has the fields of ``SubmissionDetails``."""
    challenge_row, user = find_challenge(challenge), acting_person()
    assert user is not None, "an account asked for it"

    def chunks(file: BinaryIO) -> Iterator[bytes]:
        size = os.fstat(file.fileno()).st_size
        while chunk := file.read(READ_SIZE):
            run.progress(file.tell() / size)
            yield chunk

    with uploads.open_upload(upload) as files, files.path.open("rb") as file:
        captions = read_captions(chunks(file), image_positions(challenge_row))
        with run.commit() as result:
            submission, _is_new = store_captions(
                challenge=challenge_row, user=user, details=SubmissionDetails(**about), captions=captions
            )
            result["submission"] = submission.pk
    uploads.discard_upload(upload)  # only after the commit, so that a job that failed before can be repeated


def score_submission(run: JobRun, *, submission: int) -> None:
    scores = compute_scores(submission_id=submission, progress=run.progress)
    with run.commit() as result:
        store_scores(scores)
        result |= {"submission": submission, "state": scores.state}


def rank_submissions(run: JobRun, *, challenge: str) -> None:
    ranking = compute_standing(slug=challenge, progress=run.progress)
    with run.commit():
        store_standing(ranking)
        # Each new submission starts such a job, so keep only this one.
        jobs = Job.objects.filter(kind="rank_submissions", state=Job.State.DONE, args__challenge=challenge)
        jobs.exclude(pk=run.job_id).delete()
