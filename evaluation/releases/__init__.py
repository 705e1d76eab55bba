"""Releases: a study's judgments as a frozen bundle (docs/releases.md)."""
