"""Compare judges with people, and describe the comparison."""
