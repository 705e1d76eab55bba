"""Export formats for other programs: relevance, tables of ratings, soft labels, demographics and open answers."""
