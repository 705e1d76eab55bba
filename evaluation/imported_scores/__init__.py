"""Scores of metrics that were computed elsewhere (COMET, CLIPScore, a model's grade), beside the built-in metrics."""
