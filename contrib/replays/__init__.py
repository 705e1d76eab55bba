"""Replays of detectors: the workers whom a detector would have flagged in finished work."""
