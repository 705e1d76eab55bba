"""Judgment sets as files: streamed, in a fixed order, whole or not at all."""
