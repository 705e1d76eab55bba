"""Replays of detectors: run a detector on finished work to see whom it would have flagged, before it is switched on."""
