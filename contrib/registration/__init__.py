"""Plans that are registered before a study opens."""
