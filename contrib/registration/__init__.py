"""Registration of plans before a study opens."""
