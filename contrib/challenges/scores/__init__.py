"""References, scores and the leaderboard of a challenge."""
