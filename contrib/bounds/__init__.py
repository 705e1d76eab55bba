"""Bounds of metrics on a dataset: how metrics score people's captions, and unrelated texts."""
