"""The import of scores of metrics that were computed elsewhere."""
