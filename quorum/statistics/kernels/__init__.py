"""Compiled loops of the statistics. Import them inside functions, because numba loads slowly."""
