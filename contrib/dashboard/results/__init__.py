"""The results of metrics and of workers on a dashboard."""
