"""A study by hand at Mechanical Turk's requester pages: a template, an input file, and the answers read back. Pure."""
