"""Test whether control items are wrong themselves, by the answers of workers who get the other control items right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from annotation.quality.detectors.chances import binomial_at_most
from quorum.statistics.significance import holm

MIN_OTHER_ANSWERS = 2  # answers to other items that a worker needs to count as careful about one item
MIN_CAREFUL_ANSWERS = 3  # answers of careful workers that are needed to suspect an item
# largest share of right answers of careful workers to a suspect item; an item with a larger share is only hard
MAX_RIGHT_SHARE = 0.5
ALPHA = 0.05  # significance level


@dataclass(frozen=True, slots=True)
class ControlItemTest:
    """The test whether one control item is wrong.

    A worker counts as careful about the item if their accuracy on ``MIN_OTHER_ANSWERS`` or more other control items
    reaches the threshold, the study's pass mark.

    Attributes:
        answers, right_answers: the numbers of answers, and of right answers, by all workers.
        careful_answers, careful_right_answers: the numbers of answers, and of right answers, by careful workers.
        accuracy_elsewhere: pooled accuracy of the careful workers on the other items; nan if there are none.
        p: exact binomial probability of ``careful_right_answers`` or fewer right answers if the accuracy on the item
            were (r + 1) / (n + 2), where n and r are the numbers of all and of right answers of these workers to the
            other items. It is Holm-adjusted over the items with ``MIN_CAREFUL_ANSWERS`` or more answers of careful
            workers, and 1 for the other items.
        is_suspect: whether p is at most ``ALPHA``, and at most half of the careful workers' answers are right.
    """

    answers: int
    right_answers: int
    careful_answers: int
    careful_right_answers: int
    accuracy_elsewhere: float
    p: float
    is_suspect: bool


def check_control_items(
    answers: Iterable[tuple[Hashable, Hashable, bool]], *, threshold: float
) -> dict[Hashable, ControlItemTest]:
    """Test whether control items themselves are wrong. Return the test of each item.

    Args:
        answers: for each answer, the item, the worker, and whether it is right. Equal items of several HITs have one
            key.
    """
    answers_by_item: dict[Hashable, list[tuple[Hashable, bool]]] = defaultdict(list)
    answer_counts: dict[Hashable, int] = defaultdict(int)
    right_counts: dict[Hashable, int] = defaultdict(int)
    for item, worker, is_right in answers:
        answers_by_item[item].append((worker, is_right))
        answer_counts[worker] += 1
        right_counts[worker] += is_right
    tests = {
        item: _test_item(answers_to_item, answer_counts, right_counts, threshold)
        for item, answers_to_item in answers_by_item.items()
    }
    tested_items = [item for item, test in tests.items() if test.careful_answers >= MIN_CAREFUL_ANSWERS]
    p_by_item = dict(zip(tested_items, holm([tests[item].p for item in tested_items]).tolist(), strict=True))
    return {item: _with_adjusted_p(test, p_by_item.get(item, 1.0)) for item, test in tests.items()}


def _test_item(
    answers: Sequence[tuple[Hashable, bool]],
    answer_counts: dict[Hashable, int],
    right_counts: dict[Hashable, int],
    threshold: float,
) -> ControlItemTest:
    """Return the test of one item. Its p is not adjusted yet, and ``is_suspect`` is not decided.

    Args:
        answers: the worker of each answer to the item, and whether the answer is right.
        answer_counts, right_counts: the numbers of answers and of right answers to all items, by worker.
    """
    right_flags_by_worker: dict[Hashable, list[bool]] = defaultdict(list)
    for worker, is_right in answers:
        right_flags_by_worker[worker].append(is_right)
    careful_answers = careful_right_answers = 0  # to this item
    other_answers = other_right_answers = 0  # of careful workers to the other items
    for worker, right_flags in right_flags_by_worker.items():
        other_count = answer_counts[worker] - len(right_flags)
        other_right_count = right_counts[worker] - sum(right_flags)
        if other_count >= MIN_OTHER_ANSWERS and other_right_count / other_count >= threshold:
            careful_answers += len(right_flags)
            careful_right_answers += sum(right_flags)
            other_answers += other_count
            other_right_answers += other_right_count
    accuracy_elsewhere, p = float("nan"), 1.0
    if other_answers:
        accuracy_elsewhere = other_right_answers / other_answers
        # one right and one wrong answer are added, so that six right answers of six do not count as certainty
        chance = (other_right_answers + 1) / (other_answers + 2)
        p = binomial_at_most(careful_right_answers, careful_answers, chance)
    return ControlItemTest(
        answers=len(answers),
        right_answers=sum(is_right for _, is_right in answers),
        careful_answers=careful_answers,
        careful_right_answers=careful_right_answers,
        accuracy_elsewhere=accuracy_elsewhere,
        p=p,
        is_suspect=False,
    )


def _with_adjusted_p(test: ControlItemTest, p: float) -> ControlItemTest:
    """Return the test with its adjusted p, and with the decision whether the item is suspect."""
    is_mostly_wrong = test.careful_right_answers <= MAX_RIGHT_SHARE * test.careful_answers
    return replace(test, p=p, is_suspect=is_mostly_wrong and p <= ALPHA)
