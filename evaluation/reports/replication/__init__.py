"""Protocol packs: a paper's experiment replicated, from files to a report with verdicts."""
