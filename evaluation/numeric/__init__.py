"""What metrics and statistics share: array types, compiled kernels, work in parallel, signatures."""
