"""Choose the items that separate systems, and weigh their judgments back to all items."""
