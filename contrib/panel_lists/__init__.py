"""A panel's list of submissions beside the study's own sessions: whom to pay, and what the panel decided."""
