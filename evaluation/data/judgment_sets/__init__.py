"""Load a study's judgments as arrays."""
