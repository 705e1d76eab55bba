"""The kind spans: mark the errors of a text, each with a severity, and score it."""
