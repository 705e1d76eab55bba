"""Error analysis: the items on which a metric and people disagree, and all facts about one pair or caption."""
