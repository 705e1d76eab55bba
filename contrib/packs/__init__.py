"""Run experiments of papers again: packs of published numbers, and a verdict for each of them."""
