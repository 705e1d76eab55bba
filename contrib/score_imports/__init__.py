"""The import of metric scores that were computed elsewhere."""
