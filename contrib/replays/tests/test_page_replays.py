"""Detectors run over made-up pages: the first findings, and when others' answers count."""

from annotation.quality.detectors import make_rule
from annotation.quality.detectors.history import OwnJudgment
from contrib.replays.page_replays import replay_detectors
from contrib.replays.submitted_pages import SubmittedPage
from tests.annotation.test_rules import TRIPLET


def page(worker: int, number: int, left: bool, size: int = 20) -> SubmittedPage:
    given = []
    for place in range(size):
        seen = 1.0 if left or place % 2 else 2.0
        given.append(
            OwnJudgment(100 * worker + number, size * number + place, seen, seen, float(seen == 1.0))
        )
    return SubmittedPage(worker, given)


def test_the_first_finding_is_kept_with_the_answers_it_took() -> None:
    rules = [make_rule("side-bias", {}), make_rule("alternation", {})]
    # one who goes to the left from the third page on, one from the first, one who goes to and fro all the time
    pages = [
        page(worker, number, left=worker == 2 or (worker == 1 and number >= 2))
        for number in range(6)
        for worker in (1, 2, 3)
    ]
    found = replay_detectors(pages, rules=rules, answer_format=TRIPLET)
    assert found[2]["side-bias"].judgments == 20
    assert 60 <= found[1]["side-bias"].judgments <= 120
    assert set(found[3]) == {"alternation"}


def test_nobody_is_seen_with_answers_that_came_later() -> None:
    """The others' answers count as they stood: two who agree make the third disagree, but only after them."""
    rule = make_rule("disagreement", {"of_crowd": 0.0, "least": 20})

    def answers(worker: int, against: bool) -> SubmittedPage:
        values = [1.0 if unit % 2 else 2.0 for unit in range(40)]
        return SubmittedPage(
            worker,
            [
                OwnJudgment(worker, unit, 3 - value if against else value, 3 - value if against else value)
                for unit, value in enumerate(values)
            ],
        )

    early = replay_detectors(
        [answers(1, True), answers(2, False), answers(3, False)], rules=[rule], answer_format=TRIPLET
    )
    late = replay_detectors(
        [answers(2, False), answers(3, False), answers(1, True)], rules=[rule], answer_format=TRIPLET
    )
    assert 1 not in early
    assert "disagreement" in late[1]
    assert 3 not in late
