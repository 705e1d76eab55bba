"""Arenas: the system pairs on a page are drawn when the page is claimed, from the answers so far."""
