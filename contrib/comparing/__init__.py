"""Comparisons of two studies, or of two metrics."""
