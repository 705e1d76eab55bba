"""Choosing items: ask only about the items that are most useful by given scores, and weight results to all items."""
