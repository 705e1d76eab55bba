"""Detectors of signs that a program wrote an answer: pasted text, typing, phrasing, a hidden line."""
