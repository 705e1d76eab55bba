"""Prolific by its API: a panel whose places, approvals and bonuses Quorum manages itself."""
