"""Exports in the folder layout of mt-metrics-eval."""
