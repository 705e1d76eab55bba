"""The worker's pages: plain forms first; scripts add keys, autosave and timing."""
