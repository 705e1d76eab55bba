"""Ethics boards: what they ask, filled in from the design, and consent texts of usual cases."""
