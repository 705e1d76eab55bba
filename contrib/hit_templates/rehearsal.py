"""Simulated workers who fill in the form of a HIT template."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from contrib.hit_templates.answers import checked_answer
from contrib.hit_templates.expected_answers import ROUNDING, example_answer, meets_expectation
from contrib.hit_templates.kind import HITTemplate
from contrib.hit_templates.questions import FormQuestion
from contrib.rehearsals.answers.base import Rehearsal
from judgments.drawing.controls.makers import KNOWN_GOOD
from judgments.drawing.draws import shuffle
from judgments.kinds import Consensus

MAX_TRIES = 20  # number of attempts to draw a wrong answer
TICK_CHANCE = 0.4  # probability that a simulated worker ticks a box
SIMULATED_TEXT = "An answer of a simulated worker."
RECOVERY_TOLERANCE = 0.1  # largest distance of a rehearsal's mean from the truth, as a fraction of the range


class TemplateRehearsal(Rehearsal):
    kind_class = HITTemplate

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> dict[str, Any]:
        return checked_answer(
            self.kind.questions(unit),
            {
                question.name: draw_random_answer(question, rng)
                for question in self.kind.questions(unit)
                if question.shape != "fixed"  # a hidden constant
            },
        )

    def draw_answer(
        self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        random_answer = self.draw_truth(unit, [], rng)
        if right is None:  # a careless worker
            return random_answer
        if unit.control_kind == KNOWN_GOOD:  # its truth is the expectation of each question, not an answer
            return _draw_control_answer(self.kind.questions(unit), truth, random_answer, right=right, rng=rng)
        if right:
            return dict(truth)
        changed_names = [name for name in truth if random_answer.get(name) not in (None, truth[name])]
        if not changed_names:
            return random_answer
        name = changed_names[int(rng.integers(len(changed_names)))]
        return dict(truth) | {name: random_answer[name]}

    def matches(self, consensus: Consensus, truth: Any) -> bool:
        """Return whether the outcomes of closed questions equal the truth, and means of numbers are close to it."""
        for question in self.kind.form.questions:
            outcome = (consensus.answer or {}).get(question.name)
            if outcome is None or question.shape in ("text", "fixed"):
                continue
            if question.shape == "number":
                range_width = (question.high or 0.0) - (question.low or 0.0)
                # if a bound is missing, simulated numbers span 100 (``draw_random_answer``)
                if range_width <= 0:
                    range_width = 100.0
                # A question that the truth leaves open has no error.
                error = abs(outcome["mean"] - truth.get(question.name, outcome["mean"]))
                if error > RECOVERY_TOLERANCE * range_width:
                    return False
            elif outcome["answer"] != truth.get(question.name):
                return False
        return True


def _draw_control_answer(
    questions: Sequence[FormQuestion],
    expected: Mapping[str, Any],
    random_answer: dict[str, Any],
    *,
    right: bool,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return a simulated answer to a control item.

    Args:
        expected: the expectations of the control item, by question.
        random_answer: a possible answer, whose values are kept where nothing is expected.
        right: whether the answer meets all expectations, or else fails one of them. If random values never fail one,
            the right answer is returned.
    """
    by_name = {question.name: question for question in questions}
    answer = random_answer | {
        name: example_answer(by_name[name], expectation, random_answer.get(name))
        for name, expectation in expected.items()
    }
    if right:
        return answer
    for name in shuffle(sorted(expected), rng):
        for _try in range(MAX_TRIES):
            wrong_answer = answer | {name: draw_random_answer(by_name[name], rng)}
            if not meets_expectation(expected, wrong_answer):
                return wrong_answer
    return answer


def draw_random_answer(question: FormQuestion, rng: np.random.Generator) -> Any:
    """Return a random valid answer to a question, which is not of the shape "fixed" (a hidden constant)."""
    values = [option.value for option in question.options if option.value]
    if question.shape == "choice":
        return values[int(rng.integers(len(values)))]
    if question.shape == "several":
        # One number for each option, also for those that must be ticked.
        draws = rng.random(len(question.options)).tolist()
        return [
            option.value
            for option, draw in zip(question.options, draws, strict=True)
            if option.required or draw < TICK_CHANCE
        ]
    if question.shape == "number":
        step = question.step or 1.0
        low = question.low if question.low is not None else 0.0
        high = question.high if question.high is not None else low + 100.0
        if question.low is None and high < 0:
            # 0 is above the upper bound. Take a multiple of the step instead, since steps are counted from 0.
            low = step * math.floor((high - 100.0) / step)
        step_count = int((high - low) / step + ROUNDING)
        return low + step * int(rng.integers(step_count + 1))
    return SIMULATED_TEXT[: question.max_length]
