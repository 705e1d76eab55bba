"""Default formats of dates and times."""
