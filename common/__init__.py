"""What all apps share and none of them owns. Imports nothing of them."""
