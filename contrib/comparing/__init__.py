"""Two studies, or two metrics, beside each other."""
