"""Scores, ranks and comparisons of systems by marked errors."""
