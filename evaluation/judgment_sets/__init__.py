"""A study's judgments as the numbers take them."""
