"""Scores by metrics computed elsewhere (COMET, CLIPScore, a model's grade)."""
