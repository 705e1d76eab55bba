"""Plan the size of a study by simulating studies."""
