"""Arenas: the pairs of systems on a page are drawn when somebody takes it, from the answers so far."""
