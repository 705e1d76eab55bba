"""The robustness of a report: its conclusions under all other defensible choices of the analysis."""
