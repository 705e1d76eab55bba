"""The job that computes the bounds of a dataset."""

from __future__ import annotations

from typing import Any

from contrib.bounds import bounds as dataset_bounds
from judgments.jobs.runs import Run
from judgments.studies.studies import find_dataset


def leave_one_out(run: Run, *, dataset: str, **values: Any) -> None:
    bounds = dataset_bounds.leave_one_out(dataset=find_dataset(dataset), progress=run.progress, **values)
    with run.commit() as result:
        result |= bounds.as_json()
