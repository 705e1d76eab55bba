"""Judges beside a study's people: language models, and other crowds (docs/judges.md)."""
