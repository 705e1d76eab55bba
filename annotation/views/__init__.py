"""The workers' pages: plain forms; scripts add keys, autosave and timing."""
