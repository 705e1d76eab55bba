"""The older names of four modules of `quorum.statistics`, as in the README of version 0.5.0."""
