"""Side-by-side runs against other programs; no test depends on them."""
