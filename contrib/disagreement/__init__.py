"""Disagreement as data: soft labels, what predicts them, and groups of raters."""
