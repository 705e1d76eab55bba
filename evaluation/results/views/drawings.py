"""Draw the plots of the page "Results", or take them from the cache, since drawing takes long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.cache import cache
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from evaluation.models import Analysis
from judgments.drawing.keys import content_key
from judgments.models import Study
from judgments.studies.designs import design_of

DAY_SECONDS = 86_400
Drawing = TypeVar("Drawing")


def as_markup(markup: str) -> SafeString:
    """Mark HTML as safe. The functions that make this HTML escape people's texts."""
    return mark_safe(markup)  # noqa: S308 (see above)


def cached_drawing(draw: Callable[..., Drawing], *arguments: Any) -> Drawing:
    """Call ``draw``, or return what it returned before for equal arguments in the same language."""
    key = f"quorum-drawing-{get_language()}-{draw.__name__}-{content_key(*arguments)}"
    drawing: Drawing | None = cache.get(key)
    if drawing is None:
        drawing = draw(*arguments)
        cache.set(key, drawing, DAY_SECONDS)
    return drawing


@dataclass(frozen=True, slots=True)
class DrawnPlot:
    """A plot with its finding in words. ``signature`` is that of the judgments (``Analysis.judgments``)."""

    markup: SafeString
    sentence: str
    signature: str


def draw_plots(
    study: Study, aggregation: Analysis | None, evaluation: Analysis | None, progress: dict[str, Any]
) -> dict[str, DrawnPlot]:
    """Return plots by name. Plots escape all texts."""
    # Import late, because matplotlib takes 60 MB and 0.3 s.
    from evaluation.results import plots

    drawings: dict[str, DrawnPlot] = {}

    def draw(name: str, sentence: str, signature: str, figure: Callable[..., str], *arguments: Any) -> None:
        drawings[name] = DrawnPlot(as_markup(cached_drawing(figure, *arguments)), sentence, signature)

    if study.source == Study.Source.DESIGNED:  # imported judgments have no progress to plot
        analysis = aggregation or evaluation  # counts have no signature, so show that of an analysis
        signature = analysis.judgments if analysis else ""
        # The plot does not show revisions, so they must not change the key of the cache.
        progress_counts = {**progress, "revised_at": None}
        zone = timezone.get_current_timezone_name()
        draw(
            "progress",
            plots.progress_sentence(progress),
            signature,
            plots.progress_figure,
            progress_counts,
            zone,
        )
    if aggregation is not None:
        signature, result = aggregation.judgments, aggregation.result
        agreement, workers = result["agreement"], result["workers"]
        threshold = design_of(study).controls.threshold
        sentence = plots.agreement_sentence(agreement)
        draw("agreement", sentence, signature, plots.agreement_figure, agreement)
        sentence = plots.workers_sentence(workers, threshold)
        draw("workers", sentence, signature, plots.workers_figure, workers, threshold)
    if evaluation is not None:
        result = evaluation.result
        draw("metrics", plots.accuracy_sentence(result), evaluation.judgments, plots.accuracy_figure, result)
    return drawings
