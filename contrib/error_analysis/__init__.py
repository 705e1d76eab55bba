"""Error analysis: where a metric and people disagree, and all facts about one pair or caption."""
