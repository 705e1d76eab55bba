"""How large a study must be, by simulated studies and by a rehearsal of a copy."""
