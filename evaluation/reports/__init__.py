"""What is written of a study: its report, the multiverse, replications, and releases."""
