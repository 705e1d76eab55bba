"""Results in the admin: `pages` has their lists, and loads the pages of a study that show results."""
