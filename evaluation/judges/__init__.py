"""Judges that are no people of the study: language models, and other crowds (docs/judges.md)."""
