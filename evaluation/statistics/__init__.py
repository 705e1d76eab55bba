"""The older names of four modules of `quorum.statistics`, which the README of 0.5.0 gave."""
