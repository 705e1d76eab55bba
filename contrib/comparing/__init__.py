"""Comparisons of two studies, of two releases, and of two metrics."""
