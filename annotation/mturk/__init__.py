"""Mechanical Turk's documents: questions, tests, answers, notifications. No network, no rows."""
