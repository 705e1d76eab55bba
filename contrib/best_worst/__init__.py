"""Best-worst scaling: people choose the best and the worst of several texts, or only the best (best of n)."""
