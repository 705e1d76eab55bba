"""Lexical substitution as the program of SemEval-2007 task 10 scores it: its lines, its printed figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.metrics import InvalidFile, UnknownName
from evaluation.metrics.keywords import (
    SubstitutionScores,
    keyword_best_mode,
    read_answers,
    read_gold,
    substitution_scores,
)

# What score.pl of SemEval-2007 task 10 (copy in github.com/orenmel/lexsub at 4197fcc) prints for these lines: hyphens,
# an apostrophe, another spelling, proper nouns, numbers, repeated and empty answers, a second line for an item.
GOLD_LINES = """\
tree.n 1 :: alpha 3;beta 1;gamma 1;
tree.n 2 :: well-known 2;famous 1;
tree.n 3 :: colour 2;don't 2;
tree.n 4 :: single 1;
tree.n 5 :: double 2;
tree.n 6 :: one two 2;two one 1;x 1;
tree.n 7 :: pn 3;name 1;other 1;
tree.n 8 ::\x20
tree.n 9 :: spnitz 2;dog 1;
tree.n 10 :: 11.27 kilograms 2;heavy 1;
tree.n 11 :: nontoxic 3;safe 2;
tree.n 12 :: realize 2;see 1;
tree.n 13 :: late 4;later 1;
""".splitlines()
BEST_LINES = """\
tree.n 1 :: alpha
tree.n 2 :: well-known;famous
tree.n 3 :: color;dont
tree.n 4 :: single
tree.n 5 :: double;double
tree.n 6 :: one-two;two one;;
tree.n 7 :: name
tree.n 8 :: a
tree.n 9 :: dog
tree.n 10 :: heavy;27 kilograms
tree.n 11 :: non-toxic
tree.n 12 :: realize;;see
tree.n 99 :: dog
tree.n 1 :: beta
""".splitlines()
OOT_LINES = [
    line.replace(" :: heavy;", " :: a;b;c;d;e;f;g;h;heavy;i;").replace(" :: ", " ::: ") for line in BEST_LINES
]
PRINTED = {
    "best": (10, 9, 53.15, 47.83, 8, 7, 71.43, 62.50),
    "oot": (10, 9, 83.70, 75.33, 8, 7, 71.43, 62.50),
}


def percent(share: float) -> float:
    """As the task's program rounds."""
    return int(share * 100 * 100 + 0.5) / 100


def printed(scores: SubstitutionScores) -> tuple[float, ...]:
    return tuple(
        figure
        for one in (scores.normal, scores.mode)
        for figure in (one.counted, one.attempted, percent(one.precision), percent(one.recall))
    )


@pytest.mark.parametrize("measure", ["best", "oot"])
def test_the_tasks_program_prints_these_figures_for_awkward_lines(measure: str) -> None:
    lines = BEST_LINES if measure == "best" else OOT_LINES
    scores = substitution_scores(read_answers(lines, measure), read_gold(GOLD_LINES), measure)
    assert printed(scores) == PRINTED[measure]


@pytest.mark.parametrize(
    ("answers", "measure", "figures"),
    [
        ("baseline.best", "best", (1696, 1696, 22.68, 22.68, 1230, 1230, 41.14, 41.14)),
        ("baseline-two.best", "best", (1696, 1696, 17.34, 17.34, 1230, 1230, 41.14, 41.14)),
        ("baseline.oot", "oot", (1696, 1696, 64.47, 64.47, 1230, 1230, 82.20, 82.20)),
    ],
)
def test_the_tasks_program_prints_these_figures_for_its_test_items(
    shared: Path, answers: str, measure: str, figures: tuple[float, ...]
) -> None:
    # data/semeval-2007-task10/expected_scores.txt
    folder = shared / "data/semeval-2007-task10"
    gold = read_gold((folder / "lst_test.gold").read_text("latin-1").splitlines())
    own = read_answers((folder / answers).read_text("latin-1").splitlines(), measure)
    assert printed(substitution_scores(own, gold, measure)) == figures
    assert len(gold.answers) == 1696


def test_in_the_tasks_gold_the_first_answer_is_the_single_most_frequent_one(shared: Path) -> None:
    gold = read_gold((shared / "data/semeval-2007-task10/lst_test.gold").read_text("latin-1").splitlines())
    tags = list(gold.answers.values())
    first = [list(own)[:1] for own in tags]
    ours = keyword_best_mode(first, tags)
    theirs = keyword_best_mode(first, tags, modes=list(gold.modes.values()))
    assert (ours.recall, ours.counted) == (theirs.recall, theirs.counted) == (1.0, 1230)


def test_an_item_without_answers_is_not_attempted() -> None:
    gold = read_gold(["tree.n 1 :: oak 2;", "", "tree.n 2 :: elm 2;"])
    for line in ("tree.n 2 ::", "tree.n 2 :: ", "tree.n 2 :: ;;"):
        scores = substitution_scores(read_answers(["tree.n 1 :: oak", "", line], "best"), gold, "best")
        assert (scores.normal.attempted, scores.normal.precision, scores.normal.recall) == (1, 1.0, 0.5)
        assert (scores.mode.attempted, scores.mode.recall) == (1, 0.5)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: read_gold(["a.n 1 :: b 2;", "rubbish"]), InvalidFile, "line 2 of the gold is 'rubbish'"),
        (lambda: read_gold(["a.n 1 :: b 2;"] * 2), InvalidFile, "line 2 of the gold is of item 1 again"),
        (
            lambda: read_answers(["a.n 1 :: b"], "oot"),
            InvalidFile,
            "expected 'word.pos item ::: answer;answer'",
        ),
        (lambda: read_answers([], "mode"), UnknownName, "unknown measure 'mode'"),
        (lambda: substitution_scores({}, read_gold([]), "ood"), UnknownName, "did you mean 'oot'"),
    ],
)
def test_other_lines_are_refused_with_their_number(
    call: Callable[[], Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        call()
