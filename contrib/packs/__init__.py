"""Replicate experiments of papers. A pack has the published numbers, and each number gets a verdict."""
