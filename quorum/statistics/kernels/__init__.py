"""Compiled loops of the statistics, imported where they are needed, because numba loads slowly."""
