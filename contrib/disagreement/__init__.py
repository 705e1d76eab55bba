"""Disagreement as data: soft labels, their predictors, and groups of raters."""
