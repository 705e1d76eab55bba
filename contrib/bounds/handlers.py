"""The job that computes the bounds of a dataset."""

from __future__ import annotations

from typing import Any

from contrib.bounds import bounds as dataset_bounds
from judgments.jobs.runs import JobRun
from judgments.studies.studies import find_dataset


def leave_one_out(run: JobRun, *, dataset: str, **values: Any) -> None:
    bounds = dataset_bounds.leave_one_out_bounds(
        dataset=find_dataset(dataset), progress=run.progress, **values
    )
    with run.commit() as result:
        result |= bounds.as_json()
