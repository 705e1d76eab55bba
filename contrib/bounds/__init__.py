"""Bounds of metrics on a dataset: the scores of captions by people, and of unrelated texts."""
