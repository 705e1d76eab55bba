"""Judgments that were collected elsewhere: published sets, tables, and files of other platforms."""
