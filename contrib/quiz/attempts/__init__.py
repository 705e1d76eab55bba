"""Attempts at a quiz: their content, answers and results, and the explanations of answers."""
