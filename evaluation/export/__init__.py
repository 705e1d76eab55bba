"""Exports of judgments: streamed, in a fixed order, atomically."""
