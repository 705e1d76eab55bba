"""Exports in the folder layout of mt-metrics-eval, a program that compares metrics of machine translation."""
