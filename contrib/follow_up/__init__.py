"""Follow-up studies: drafts with selected rows or new items of a study, and known items from unanimous answers."""
