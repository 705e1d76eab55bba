"""Models of workers with unknown true labels: Dawid-Skene, GLAD, MACE, and item response."""
