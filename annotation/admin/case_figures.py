"""A case as a small picture: a worker's latest answers one by one, and the time each took beside the others'."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotation.models import Judgment
from annotation.rules.chances import median
from judgments.kinds import KINDS, Kind
from judgments.models import Study

SHOWN = 100  # answers in a picture
SAMPLE = 1_000  # of the study's latest times, for what is usual
STEP, TOP, BASE, FLOOR, LEFT = 6, 8, 34, 76, 62
TALLEST = 34


@dataclass(frozen=True, slots=True)
class Dot:
    """One answer: how high it is drawn (0 to 1; None where answers are open), and its seconds."""

    level: float | None
    seconds: float | None


def latest_answers(study: Study, workers: Collection[int]) -> dict[int, list[Dot]]:
    """The latest answers of each worker, oldest first, those that do not count any more among them; one query."""
    kind = KINDS[study.protocol]
    place = Window(RowNumber(), partition_by=[F("assignment__worker_id")], order_by=F("pk").desc())
    rows = (
        Judgment.objects.filter(
            assignment__study=study, assignment__worker__in=workers, replaced_by__isnull=True
        )
        .annotate(place=place)
        .filter(place__lte=SHOWN)
        .order_by("pk")
        .values_list("assignment__worker_id", "value", "presented", "seconds")
    )
    found: defaultdict[int, list[Dot]] = defaultdict(list)
    for worker, value, presented, seconds in rows:
        side = presented == Judgment.Presented.SECOND_LEFT
        level = None if value is None else _level(kind, kind.seen(value, side=side))
        found[worker].append(Dot(level, seconds))
    return dict(found)


def _level(kind: Kind, seen: Any) -> float:
    """The left above the right; else the scale from below to above."""
    low, high = min(kind.values), max(kind.values)
    height = (seen - low) / (high - low) if high > low else 0.5
    return 1 - height if kind.two_sided else height


def usual_seconds(study: Study) -> float | None:
    """The median time of an answer among the study's latest; None where none is known."""
    times = Judgment.objects.filter(assignment__study=study, seconds__isnull=False).order_by("-pk")
    found = median([one for one in times.values_list("seconds", flat=True)[:SAMPLE] if one is not None])
    return None if math.isnan(found) else found


def case_figure(kind: Kind, dots: Sequence[Dot], usual: float | None, *, about: str) -> SafeString:
    """The picture; '' without answers. ``about`` says in words what it shows."""
    if not dots:
        return SafeString("")
    width = LEFT + STEP * SHOWN + 8
    high, low = _ends(kind)
    parts = [
        format_html('<text x="0" y="{}">{}</text>', TOP + 4, high),
        format_html('<text x="0" y="{}">{}</text>', BASE, low),
        format_html('<text x="0" y="{}">seconds</text>', FLOOR),
        format_html('<line class="q-case-line" x1="{}" x2="{}" y1="{}" y2="{}"/>', LEFT, width, FLOOR, FLOOR),
    ]
    scale = _scale(dots, usual)
    for place, dot in enumerate(dots):
        x = LEFT + STEP * place
        if dot.level is not None:
            y = BASE - 3 - (BASE - TOP - 4) * dot.level
            parts.append(
                format_html(
                    '<rect class="q-case-answer" x="{}" y="{}" width="4" height="4" rx="1"/>', x, f"{y:.1f}"
                )
            )
        if dot.seconds is not None:
            tall = min(TALLEST, max(1.0, dot.seconds * scale))
            parts.append(
                format_html(
                    '<rect class="q-case-time" x="{}" y="{}" width="4" height="{}"/>',
                    x, f"{FLOOR - tall:.1f}", f"{tall:.1f}",
                )
            )  # fmt: skip
    if usual is not None:
        y = FLOOR - min(TALLEST, usual * scale)
        line = '<line class="q-case-usual" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        parts.append(format_html(line, LEFT, width, f"{y:.1f}", f"{y:.1f}"))
        words = '<text x="{}" y="{}" text-anchor="end">usual {} s</text>'
        parts.append(format_html(words, width, f"{y - 5:.1f}", f"{usual:.1f}"))
    return format_html(
        '<svg class="q-case-figure" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
        width, FLOOR + 4, about, format_html_join("", "{}", ((part,) for part in parts)),
    )  # fmt: skip


def _ends(kind: Kind) -> tuple[str, str]:
    if kind.two_sided:
        return "left", "right"
    return ("", "") if kind.is_open else (f"{max(kind.values)}", f"{min(kind.values)}")


def _scale(dots: Sequence[Dot], usual: float | None) -> float:
    """Pixels a second: the usual time stands at half of the height, or the median where none is known."""
    middle = usual or median([dot.seconds if dot.seconds is not None else math.nan for dot in dots])
    return TALLEST / (2 * middle) if middle and not math.isnan(middle) else 1.0
