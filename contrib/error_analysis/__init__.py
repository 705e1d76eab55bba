"""Where a metric and people disagree, and one pair or caption with all that is known of it."""
