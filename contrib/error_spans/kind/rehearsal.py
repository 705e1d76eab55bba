"""Simulated workers who mark errors and score texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from common.texts import word_bounds
from contrib.error_spans.kind.answers import (
    CATEGORY,
    END,
    MIN_F1,
    SCORE_TOLERANCE,
    SEVERITY,
    START,
    character_f1,
    sort_spans,
)
from contrib.error_spans.kind.spans import SpanAnnotation
from contrib.rehearsals.answers.base import Rehearsal
from judgments.kinds.consensus import Consensus

RECOVERY_TOLERANCE = 10  # points by which a consensus may differ from the true score and still recover it
# Probabilities that a careful simulated worker misses a span, moves its end, or invents a span.
MISS_CHANCE, MOVE_CHANCE, INVENTION_CHANCE = 0.15, 0.2, 0.1


class SpanRehearsal(Rehearsal):
    kind_class = SpanAnnotation

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> dict[str, Any]:
        """Draw the true answer. A text of lower quality has more errors and a lower score.

        The quality is about 1 (bad) to 4 (good), so that a good text has hardly any errors and nearly 100 points.
        """
        text, quality = unit.first.text, qualities[0]
        mean_count = max(0.0, 0.6 * (4.2 - quality))  # captions of the best systems may have a quality of 4.5
        spans = [self._draw_span(text, rng) for _ in range(int(rng.poisson(mean_count)))]
        score = 25 * quality - 8 * len(spans) + float(rng.normal(0, 5))
        return self._make_answer([span for span in spans if span], score)

    def draw_answer(
        self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        """Draw an answer. In a right one, some spans of the truth are left out or moved, and others are invented.

        Args:
            truth: the true answer, or what a check question expects, such as ``{"within": [4, 16]}``.
            right: whether the answer is right; None for an answer at random.
        """
        text = unit.first.text
        drawn_spans = [self._draw_span(text, rng) for _ in range(int(rng.integers(0, 4)))]
        random_spans = [span for span in drawn_spans if span]
        if right is None:
            return self._make_answer(random_spans, float(rng.integers(0, 101)))
        if "within" in truth:
            return self._draw_control_answer(truth["within"], random_spans, right=right, rng=rng)
        spans = [self._mark_span(text, span, rng) for span in truth["spans"] if rng.random() >= MISS_CHANCE]
        if rng.random() < INVENTION_CHANCE and random_spans:
            spans.append(random_spans[0])
        score = truth.get("score", 0) + float(rng.normal(0, 4))
        if right:
            return self._make_answer(spans, score)
        distance = float(rng.integers(SCORE_TOLERANCE + 1, 41))
        wrong_spans = [span for span in random_spans if not character_f1([span], truth["spans"])]
        is_right_without_spans = not truth["spans"] and not self.kind.options.score
        if not wrong_spans and is_right_without_spans:
            wrong_spans = [span for span in [self._draw_span(text, rng)] if span]
        wrong_score = score - distance if score > distance else score + distance
        return self._make_answer(wrong_spans, wrong_score)

    def _draw_control_answer(
        self,
        damage: tuple[int, int],
        random_spans: Sequence[Mapping[str, Any]],
        *,
        right: bool,
        rng: np.random.Generator,
    ) -> dict[str, Any]:
        """Draw an answer to a check question. A right one marks the damage, and a wrong one only other words.

        ``damage`` are the offsets of the damaged part of the text.
        """
        start, end = damage
        spans_outside = [span for span in random_spans if span[END] <= start or span[START] >= end]
        damage_spans = [{**self._draw_marks(rng), START: start, END: end}] if right else []
        return self._make_answer([*spans_outside, *damage_spans], 30.0 if right else 90.0)

    def matches(self, consensus: Consensus, truth: Any) -> bool:
        if consensus.value is None:
            return False
        if self.kind.options.score:
            return abs(consensus.value - truth["score"]) <= RECOVERY_TOLERANCE
        return character_f1(consensus.answer["spans"], truth["spans"]) >= MIN_F1

    def _make_answer(self, spans: Sequence[Mapping[str, Any]], score: float) -> dict[str, Any]:
        score_field = {"score": min(100, max(0, round(score)))} if self.kind.options.score else {}
        return {"spans": sort_spans(spans), **score_field}

    def _draw_span(self, text: str, rng: np.random.Generator) -> dict[str, Any]:
        """Draw one to three adjacent words as a span. Return {} if the text has no word."""
        tokens = word_bounds(text)
        if not tokens:
            return {}
        first_word = int(rng.integers(len(tokens)))
        last_word = min(first_word + int(rng.integers(3)), len(tokens) - 1)
        return {START: tokens[first_word][0], END: tokens[last_word][1], **self._draw_marks(rng)}

    def _draw_marks(self, rng: np.random.Generator) -> dict[str, str]:
        """Draw a severity and, if the study has categories, a category."""
        options = self.kind.options
        marks = {SEVERITY: options.severities[int(rng.integers(len(options.severities)))]}
        if options.categories:
            name, _label = options.categories[int(rng.integers(len(options.categories)))]
            marks[CATEGORY] = name
        return marks

    def _mark_span(self, text: str, span: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """Return a span as a simulated worker marks it: sometimes with another end, unless it marks a missing part.

        The end is drawn among the ends of all words after the span's start. An end after the third is replaced by the
        third, which is thus the most frequent in a long text.
        """
        ends = [end for _, end in word_bounds(text) if span[START] is not None and end > span[START]]
        if not ends or rng.random() >= MOVE_CHANCE:
            return dict(span)
        return {**span, END: ends[min(int(rng.integers(len(ends))), 2)]}
