"""Plots of a study as SVG, each with an explanatory sentence."""

from evaluation.plots.accuracy import accuracy_figure, accuracy_sentence, agreement_figure, agreement_sentence
from evaluation.plots.work import progress_figure, progress_sentence, workers_figure, workers_sentence

__all__ = [
    "accuracy_figure",
    "accuracy_sentence",
    "agreement_figure",
    "agreement_sentence",
    "progress_figure",
    "progress_sentence",
    "workers_figure",
    "workers_sentence",
]
