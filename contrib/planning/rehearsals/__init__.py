"""Rehearsals: copies of a study that simulated participants answer, and their evaluation."""
