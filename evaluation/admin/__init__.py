"""Results in the admin. `pages` defines their lists, and imports the pages of a study that show results."""
