"""HIT templates of MTurk's requester pages and of Turkle: HTML with ``${field}`` for the cells of a row."""
