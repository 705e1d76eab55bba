"""Plan the size of a study by simulated studies, and by a rehearsal of a copy."""
