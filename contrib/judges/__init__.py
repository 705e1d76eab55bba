"""Judges that are no people: language models and other crowds, held against people."""
