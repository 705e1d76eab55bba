"""Choosing items: what scores at hand say is worth asking is asked, and weighed back to all items."""
