"""Choosing items: ask about the items that given scores make useful, and weight results back to all items."""
