"""Store the rows of a file of judgments. Each table has a module."""
