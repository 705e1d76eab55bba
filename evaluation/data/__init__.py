"""Judgments and scores as data: sets of judgments, imported scores, exports, and releases as files."""
