"""Strengths of systems, estimated from people's choices between their texts."""
