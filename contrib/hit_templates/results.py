"""The results of a HIT template: the consensus of each question, and statistics of its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any, Protocol

import numpy as np

from contrib.hit_templates.questions import FormQuestion
from contrib.hit_templates.reading import TemplateForm
from judgments.kinds.base import IncludedJudgment, KindResults, OpenAggregation, Results, sort_by_count
from judgments.kinds.consensus import Consensus, nan_as_none
from quorum.statistics.agreement import AgreementResult, alpha_of_judgments, alpha_of_parts

RESAMPLES = 1000  # for intervals of alpha
MAX_VALUES_LISTED = 50  # number of values that are listed with their votes
MAX_TEXTS_LISTED = 20  # number of different texts that are listed
# The type of ``AnswersByQuestion.codes``: a function of a unit and an answer, which returns numbers for the agreement.
CodesFunction = Callable[[Any, Any], dict[str, float]]


class TemplateKind(Protocol):
    """The part of the kind ``HITTemplate`` that results need. The kind itself imports this module."""

    @property
    def form(self) -> TemplateForm: ...

    def questions(self, unit: Any) -> tuple[FormQuestion, ...]:
        """Return the questions with the cells of a unit filled in."""


class TemplatePart:
    """A mixin for the parts of the kind (aggregation, results, answer files), which need its questions."""

    def __init__(self, kind: TemplateKind) -> None:
        self._kind = kind


class AnswersByQuestion(TemplatePart, OpenAggregation):
    """The consensus of answers to a form. It has an outcome for each question."""

    rule = "majority-of-answers"
    tie_rule = "no-answer"

    def combine(self, answers: list[Mapping[str, Any]]) -> Consensus:
        """Return a consensus whose ``answer`` has the outcome of each question.

        An outcome has the ``answer`` of most workers and all ``votes``, or the ``mean`` and the ``median`` of
        numbers, or all ``texts``; ``n`` is the number of answers. ``share`` and ``margin`` of the consensus are means
        over the closed questions. ``tie`` is True if any of them is tied.
        """
        outcomes: dict[str, Any] = {}
        votes: dict[str, int] = {}
        shares, margins, ties = [], [], []
        for question in self._kind.form.questions:
            values = [answer[question.name] for answer in answers if question.name in answer]
            if not values or question.shape == "fixed":  # a hidden constant
                continue
            if question.shape == "number":
                outcomes[question.name] = {
                    "n": len(values),
                    "mean": fmean(values),
                    "median": float(median(values)),
                }
                continue
            if question.shape == "text":
                outcomes[question.name] = {"n": len(values), "texts": values}
                continue
            outcome = _combine_choices(values) if question.shape == "choice" else _combine_ticks(values)
            outcomes[question.name] = outcome
            votes |= {f"{question.name}:{value}": count for value, count in outcome["votes"].items()}
            shares.append(outcome["share"])
            margins.append(outcome["margin"])
            ties.append(outcome["tie"])
        return Consensus(
            n=len(answers),
            share=fmean(shares) if shares else None,
            margin=fmean(margins) if margins else None,
            tie=any(ties),
            votes=votes,
            answer=outcomes,
        )

    def codes(self, unit: Any, answer: Any) -> dict[str, float]:
        """Return a number for each closed question, and for each of its check boxes, from which alpha is computed.

        It is the number of the chosen option, from 1, or 0 if none is chosen; for a check box, 1 if it is ticked and
        else 0. Numbers have no codes, since they are of another level of measurement than options.
        """
        codes: dict[str, float] = {}
        for question in self._kind.questions(unit):
            if question.shape == "choice":
                values = [option.value for option in question.options]
                value = answer.get(question.name)
                codes[question.name] = float(values.index(value) + 1) if value in values else 0.0
            elif question.shape == "several":
                ticked_values = answer.get(question.name, [])
                # The key of a check box is the question, a tab, and the index of the box. No name contains a tab.
                codes |= {
                    f"{question.name}\t{index}": float(option.value in ticked_values)
                    for index, option in enumerate(question.options)
                }
        return codes


def _combine_choices(values: Sequence[str]) -> dict[str, Any]:
    """Return the outcome of a question with one answer: the value that most workers chose, unless there is a tie."""
    counts = Counter(values).most_common()
    best_value, best_count = counts[0]
    second_count = counts[1][1] if len(counts) > 1 else 0
    n = len(values)
    return {
        "n": n,
        "answer": best_value if best_count > second_count else None,
        "votes": sort_by_count(dict(counts)),
        "share": best_count / n,
        "margin": (best_count - second_count) / n,
        "tie": best_count == second_count,
    }


def _combine_ticks(values: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the outcome of check boxes: those that more than half of the workers ticked. Exactly half is a tie.

    ``values`` are the ticked values of each worker.
    """
    counts = Counter(_chosen_values(values))
    n = len(values)
    votes = sort_by_count(counts)
    # A box that nobody ticked has no count. If nobody ticked any box, workers agree fully.
    margins = [abs(2 * count - n) / n for count in counts.values()]
    return {
        "n": n,
        "answer": [value for value, count in votes.items() if 2 * count > n],
        "votes": votes,
        "share": fmean([max(count, n - count) / n for count in counts.values()]) if counts else 1.0,
        "margin": fmean(margins) if margins else 1.0,
        "tie": any(2 * count == n for count in counts.values()),
    }


class ResultsByQuestion(TemplatePart, Results):
    """The statistics of each question."""

    def figures(self, judgments: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        codes = AnswersByQuestion(self._kind).codes  # the same codes as for the agreement of the study
        return KindResults(
            study={"questions": question_figures(self._kind.form.questions, codes, judgments, seed=seed)}
        )


def question_figures(
    questions: Sequence[FormQuestion],
    codes_of: CodesFunction,
    judgments: Sequence[IncludedJudgment],
    *,
    seed: int,
) -> list[dict[str, Any]]:
    """Return the statistics of each question except hidden constants, whose shape is "fixed".

    They are the votes for options; mean, median, sample standard deviation and range of numbers; or the texts. For
    options and numbers, there is also alpha.
    """
    return [
        _question_statistics(question, codes_of, judgments, seed=seed)
        for question in questions
        if question.shape != "fixed"
    ]


def _question_statistics(
    question: FormQuestion, codes_of: CodesFunction, judgments: Sequence[IncludedJudgment], *, seed: int
) -> dict[str, Any]:
    answers = [
        (judgment, judgment.answer[question.name])
        for judgment in judgments
        if question.name in judgment.answer
    ]
    values = [value for _, value in answers]
    figure: dict[str, Any] = {
        "name": question.name,
        "label": question.label,
        "shape": question.shape,
        "answered": len(answers),
    }
    if question.shape == "text":
        distinct_texts = list(dict.fromkeys(values))
        return figure | {"texts": distinct_texts[:MAX_TEXTS_LISTED], "different": len(distinct_texts)}
    if question.shape == "number":
        numbers = np.array(values, dtype=np.float64)
        units = [judgment.unit.pk for judgment, _ in answers]
        workers = [judgment.worker for judgment, _ in answers]
        alpha = None
        if answers:
            alpha = alpha_of_judgments(units, workers, values, "interval", resamples=RESAMPLES, seed=seed)
        return figure | {
            "mean": float(numbers.mean()) if answers else None,
            "median": float(np.median(numbers)) if answers else None,
            "deviation": float(numbers.std(ddof=1)) if len(answers) > 1 else None,
            "low": float(numbers.min()) if answers else None,
            "high": float(numbers.max()) if answers else None,
            "alpha": _alpha_as_json(alpha),
        }
    return figure | _choice_statistics(question, codes_of, judgments, values, seed=seed)


def _choice_statistics(
    question: FormQuestion,
    codes_of: CodesFunction,
    judgments: Sequence[IncludedJudgment],
    answers: Iterable[Any],
    *,
    seed: int,
) -> dict[str, Any]:
    """Return the votes for each option, and alpha.

    If several options can be chosen, each is a part of the question, and alpha is over all parts.
    """
    counts = Counter(_chosen_values(answers))
    sorted_counts = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    parts = [
        (judgment.unit.pk, part, judgment.worker, code)
        for judgment in judgments
        for part, code in codes_of(judgment.unit, judgment.answer).items()
        if part.partition("\t")[0] == question.name
    ]
    alpha = None
    if parts:
        units, names, workers, part_codes = zip(*parts, strict=True)
        alpha = alpha_of_parts(units, names, workers, part_codes, "nominal", resamples=RESAMPLES, seed=seed)
    return {
        "votes": dict(sorted_counts[:MAX_VALUES_LISTED]),
        "different": len(sorted_counts),
        "alpha": _alpha_as_json(alpha),
    }


def _chosen_values(answers: Iterable[Any]) -> list[str]:
    """Return the chosen values of all answers, each of which is a value, or a list of ticked values."""
    values: list[str] = []
    for answer in answers:
        values += answer if isinstance(answer, list) else [answer]
    return values


def _alpha_as_json(result: AgreementResult | None) -> dict[str, Any]:
    if result is None:
        no_value = {"value": None, "low": None, "high": None}
        return no_value | {"level": "", "n": 0, "reason": "Nobody answered it."}
    return {
        "value": nan_as_none(result.value),
        "low": nan_as_none(result.low),
        "high": nan_as_none(result.high),
        "level": result.level,
        "n": result.pairable,
        "reason": result.reason,
    }
