"""Ethics boards: their questions, answered from the design, and consent texts for common cases."""
