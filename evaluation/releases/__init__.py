"""Releases: a study's judgments as a frozen bundle whose figures follow from its own rows (docs/releases.md)."""
