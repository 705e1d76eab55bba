"""Rehearsals: copies of a study that simulated participants answer, and what comes of it."""
