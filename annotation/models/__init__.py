"""The rows behind who answers."""
