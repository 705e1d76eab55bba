"""Replicate experiments of papers: packs with published numbers, and a verdict on each number."""
