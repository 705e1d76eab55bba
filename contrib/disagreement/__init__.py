"""Disagreement as data: soft labels, how well predictors predict them, and groups of raters."""
