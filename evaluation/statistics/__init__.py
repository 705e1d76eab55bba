"""The older names of `quorum.statistics`: those modules of it that programs import by them."""
