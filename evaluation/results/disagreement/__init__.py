"""Disagreement as data: soft labels, their predictors, groups of raters, and worker models."""

from django.utils.translation import gettext_noop

# Models of workers that `aggregate` fits beside Dawid and Skene's, and their names on pages.
WORKER_MODELS = {
    "mace": gettext_noop("MACE: who knows and who guesses"),
    "glad": gettext_noop("GLAD: ability of people and difficulty of items"),
    "response": gettext_noop("Two-parameter response model"),
    "confidence": gettext_noop("Votes weighted by how sure people are"),
}
