"""Score systems by marked errors as WMT does, and compare two of them."""
