"""Prolific by its API: a crowd whose slots, approvals and bonuses Quorum manages itself."""
