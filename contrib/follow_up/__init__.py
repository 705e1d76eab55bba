"""Studies that follow a study: its chosen rows again, new items, and known items from what people agreed on."""
