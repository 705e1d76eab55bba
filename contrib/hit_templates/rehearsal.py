"""Simulated workers who fill in the form of a HIT template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from contrib.hit_templates.answers import checked_answer
from contrib.hit_templates.controls import draw_control_answer, draw_random_answer
from contrib.hit_templates.kind import HITTemplate
from contrib.rehearsals.answers.base import Rehearsal
from judgments.drawing.controls.makers import KNOWN_GOOD
from judgments.kinds import Consensus

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
            return draw_control_answer(self.kind.questions(unit), truth, random_answer, right=right, rng=rng)
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
