"""Code shared by all apps; it imports none of them."""
