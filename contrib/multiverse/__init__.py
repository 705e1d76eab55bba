"""The robustness of a report: its conclusions under other defensible choices of the analysis."""
