"""Declare what the feature “best_worst” adds to the platform."""

from config.features import Feature


class BestWorstConfig(Feature):
    name = "contrib.best_worst"
    kinds = ("contrib.best_worst.kind.BestWorst",)
    rehearsals = ("contrib.best_worst.rehearsal.BestWorstRehearsal",)
    presets = ("our-best-worst",)
    standings = ("contrib.best_worst.choices.standings_of_study",)
    figure_sections = {"captions": "contrib.best_worst.report.caption_scores_section"}
    choice_fits = ("contrib.best_worst.choices.fit_choices",)
