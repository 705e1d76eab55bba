"""Bounds of metrics on a dataset: the scores of people's captions (upper), and of unrelated texts (lower)."""
