"""Bounds of metrics on a dataset: what people reach by each, and what unrelated texts do."""
