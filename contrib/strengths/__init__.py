"""Strengths of systems, from people's choices between their texts."""
