"""Judgments of a text from 0 to 100: direct assessment (Graham et al. 2013)."""
