"""Ethics boards: a checklist of their questions, answered from the design, and consent texts for common cases."""
