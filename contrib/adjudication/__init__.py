"""Adjudication: chosen people decide disputed units without seeing the votes."""
