"""Results of other annotation platforms, row by row, in the columns of Mechanical Turk's result files."""
