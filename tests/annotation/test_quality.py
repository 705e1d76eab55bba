"""The control rule of H13 §4.3.2: judgments of workers below the threshold are not used."""

from __future__ import annotations

import pytest

from annotation.quality.controls import control_record, control_records
from judgments.kinds import KINDS


@pytest.mark.parametrize(("right", "seen"), [(7, 10), (14, 20), (21, 30), (70, 100), (693, 990)])
def test_a_worker_with_exactly_seventy_per_cent_right_is_used(right: int, seen: int) -> None:
    assert control_record(seen, right, 0.7).used
    assert not control_record(seen, right - 1, 0.7).used


def test_a_worker_who_saw_no_control_item_is_used() -> None:
    record = control_record(0, 0, 0.7)
    assert record.used
    assert record.share is None


def test_each_worker_is_measured_on_the_items_they_saw() -> None:
    answers = [(1, 1, 1), (1, 0, 1), (2, 1, 1), (2, 0, 0), (2, 1, 0)]
    records = control_records(answers, threshold=0.6, is_right=KINDS["relevance"].is_right)
    assert (records[1].right, records[1].seen, records[1].used) == (1, 2, False)
    assert (records[2].right, records[2].seen, records[2].used) == (2, 3, True)


def test_a_graded_control_item_takes_a_range_of_grades() -> None:
    answers = [(1, 4, "3-4"), (1, 3, "3-4"), (1, 2, "3-4"), (1, 1, "1-2")]
    record = control_records(answers, threshold=0.7, is_right=KINDS["graded"].is_right)[1]
    assert (record.right, record.seen) == (3, 4)
