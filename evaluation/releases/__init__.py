"""Releases: a study's judgments as a frozen bundle whose results follow from its rows (docs/releases.md)."""
