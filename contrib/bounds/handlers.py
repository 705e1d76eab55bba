"""The job that computes the bounds of metrics on a dataset: the scores of people's captions and of unrelated texts."""

from __future__ import annotations

from typing import Any

from contrib.bounds.bounds import leave_one_out_bounds
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_dataset


def leave_one_out(run: JobRun, *, dataset: str, **parameters: Any) -> None:
    bounds = leave_one_out_bounds(dataset=find_dataset(dataset), progress=run.progress, **parameters)
    with run.commit() as result:
        result |= bounds.as_json()
