"""Store the rows of a file of judgments, with a module for each table."""
