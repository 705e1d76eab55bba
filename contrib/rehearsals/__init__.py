"""Rehearsals: simulated participants answer a study or a copy of it, and the results are evaluated."""
