"""Follow-up studies: selected rows of a study again, new items, and known items from unanimous answers."""
