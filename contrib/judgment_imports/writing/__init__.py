"""Write the rows of a file of judgments, a module for each table."""
