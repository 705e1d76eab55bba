"""Plan the size of a study by simulating studies, and by rehearsing a copy."""
