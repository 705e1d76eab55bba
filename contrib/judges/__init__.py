"""Judges that are no people: language models and other crowds, compared with people."""
