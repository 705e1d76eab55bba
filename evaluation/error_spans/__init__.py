"""Marked errors system by system: scores as WMT computes them, and two systems side by side."""
