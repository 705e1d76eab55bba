"""Judges that are not people: language models and other crowds, compared with people."""
