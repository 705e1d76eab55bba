"""Stand-ins for services of other people, spoken to over the network like the real ones."""
