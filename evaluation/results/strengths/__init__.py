"""Rank systems by people's choices between their texts."""
