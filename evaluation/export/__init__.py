"""Export judgments as files: streamed, in a fixed order, atomically."""
