"""Draw a worker's latest answers as SVG: a square for each answer, and below it a bar for the time it took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from annotation.models import Judgment
from judgments.design.numbers import display_number
from judgments.kinds import Kind
from judgments.models import Study
from judgments.studies.designs import kind_of

MAX_ANSWERS = 100  # latest answers of a worker that are drawn
MAX_TIMES = 1_000  # latest times of the study from which their median is computed
# Lengths and positions in units of the SVG. y grows downwards; it is the upper edge of a square, and the base line of a
# text.
STEP_X = 6  # from one answer to the next
FIRST_X = 62  # of the first answer
RIGHT_MARGIN = 8
HIGH_LABEL_Y, LOW_LABEL_Y = 12, 34
HIGH_SQUARE_Y, LOW_SQUARE_Y = 9, 31  # of the highest and of the lowest answer
BARS_Y = 76  # of the foot of the bars
MAX_BAR_LENGTH = 34


@dataclass(frozen=True, slots=True)
class DrawnAnswer:
    """An answer in the figure of a worker's latest answers.

    Attributes:
        level: the height of the answer's square, from 0 (lowest) to 1; None for open answers.
        seconds: the time that the answer took; None if unknown.
    """

    level: float | None
    seconds: float | None


def latest_answers(study: Study, workers: Collection[int]) -> dict[int, list[DrawnAnswer]]:
    """Return each worker's latest answers, oldest first, by the worker's row id."""
    kind = kind_of(study)
    rank = Window(RowNumber(), partition_by=[F("assignment__worker_id")], order_by=F("pk").desc())
    rows = (
        Judgment.objects.filter(
            assignment__study=study, assignment__worker__in=workers, replaced_by__isnull=True
        )
        .annotate(rank=rank)
        .filter(rank__lte=MAX_ANSWERS)
        .order_by("pk")
        .values_list("assignment__worker_id", "value", "presented", "seconds")
    )
    answers_by_worker: defaultdict[int, list[DrawnAnswer]] = defaultdict(list)
    for worker, value, presented, seconds in rows:
        level = None
        if value is not None:
            is_second_left = presented == Judgment.Presented.SECOND_LEFT
            # ``value`` is in the unit's order of the options, the shown value in the order that the worker saw
            shown_value = kind.sides.from_canonical(value, side=is_second_left)
            level = _height_on_scale(kind, shown_value)
        answers_by_worker[worker].append(DrawnAnswer(level, seconds))
    return dict(answers_by_worker)


def _height_on_scale(kind: Kind, shown_value: Any) -> float:
    """Return the height of an answer as the worker saw it, from 0 to 1. Left is above right."""
    if kind.two_sided:  # the values are in the order of the scale, from left to right
        return 1 - kind.values.index(shown_value) / (len(kind.values) - 1)
    low, high = min(kind.values), max(kind.values)
    return (shown_value - low) / (high - low) if high > low else 0.5


def median_seconds(study: Study) -> float | None:
    """Return the median time of the study's latest answers; None if no time is known."""
    times = Judgment.objects.filter(assignment__study=study, seconds__isnull=False).order_by("-pk")
    latest_times = [
        seconds for seconds in times.values_list("seconds", flat=True)[:MAX_TIMES] if seconds is not None
    ]
    return float(np.median(latest_times)) if latest_times else None


def draw_case_figure(
    kind: Kind, answers: Sequence[DrawnAnswer], usual_seconds: float | None, *, label: str
) -> SafeString:
    """Draw a worker's answers as SVG; "" if there are none.

    Args:
        answers: the answers, oldest first.
        usual_seconds: the usual time of an answer in the study, which a line shows.
        label: what the figure shows, for people who do not see it.
    """
    if not answers:
        return SafeString("")
    width = FIRST_X + STEP_X * MAX_ANSWERS + RIGHT_MARGIN
    high_label, low_label = _axis_labels(kind)
    parts = [
        format_html('<text x="0" y="{}">{}</text>', HIGH_LABEL_Y, high_label),
        format_html('<text x="0" y="{}">{}</text>', LOW_LABEL_Y, low_label),
        format_html('<text x="0" y="{}">{}</text>', BARS_Y, pgettext("staff", "seconds")),
        format_html(
            '<line class="q-case-line" x1="{}" x2="{}" y1="{}" y2="{}"/>', FIRST_X, width, BARS_Y, BARS_Y
        ),
    ]
    scale = _bar_length_per_second(answers, usual_seconds)
    for index, answer in enumerate(answers):
        parts += _draw_answer(answer, FIRST_X + STEP_X * index, scale)
    if usual_seconds is not None:
        parts += _draw_usual_time(usual_seconds, width, scale)
    return format_html(
        '<svg class="q-case-figure" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
        width, BARS_Y + 4, label, format_html_join("", "{}", ((part,) for part in parts)),
    )  # fmt: skip


def _draw_answer(answer: DrawnAnswer, x: int, scale: float) -> list[SafeString]:
    """Draw the square and the bar of an answer, with left edge ``x``. ``scale`` is the length of the bar per second."""
    parts: list[SafeString] = []
    if answer.level is not None:
        y = LOW_SQUARE_Y - (LOW_SQUARE_Y - HIGH_SQUARE_Y) * answer.level
        square = '<rect class="q-case-answer" x="{}" y="{}" width="4" height="4" rx="1"/>'
        parts.append(format_html(square, x, f"{y:.1f}"))
    if answer.seconds is not None:
        length = min(MAX_BAR_LENGTH, max(1.0, answer.seconds * scale))
        bar = '<rect class="q-case-time" x="{}" y="{}" width="4" height="{}"/>'
        parts.append(format_html(bar, x, f"{BARS_Y - length:.1f}", f"{length:.1f}"))
    return parts


def _draw_usual_time(usual_seconds: float, width: int, scale: float) -> list[SafeString]:
    y = BARS_Y - min(MAX_BAR_LENGTH, usual_seconds * scale)
    line = '<line class="q-case-usual" x1="{}" x2="{}" y1="{}" y2="{}"/>'
    text = '<text x="{}" y="{}" text-anchor="end">{}</text>'
    caption = pgettext("staff", "usual time: %(seconds)s s") % {"seconds": f"{usual_seconds:.1f}"}
    return [
        format_html(line, FIRST_X, width, f"{y:.1f}", f"{y:.1f}"),
        format_html(text, width, f"{y - 5:.1f}", caption),
    ]


def _axis_labels(kind: Kind) -> tuple[str, str]:
    """Return the labels of the highest and of the lowest answer; "" for open answers."""
    if kind.two_sided:
        return pgettext("staff", "left"), pgettext("staff", "right")
    if kind.is_open:
        return "", ""
    return display_number(max(kind.values)), display_number(min(kind.values))


def _bar_length_per_second(answers: Sequence[DrawnAnswer], usual_seconds: float | None) -> float:
    """Return the scale of the bars, so that the bar of the usual time has half of the largest length."""
    times = [answer.seconds for answer in answers if answer.seconds is not None]
    typical_seconds = usual_seconds or (float(np.median(times)) if times else 0.0)
    return MAX_BAR_LENGTH / (2 * typical_seconds) if typical_seconds else 1.0
