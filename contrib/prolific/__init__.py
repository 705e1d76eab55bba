"""Prolific by its API: a crowd whose places, approvals and bonuses Quorum manages itself."""
