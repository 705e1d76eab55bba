"""Protocol packs: a paper's experiment run again, from files to a report with a verdict for each number."""
