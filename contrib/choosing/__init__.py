"""Choosing items: judge a sample of the items instead of all, and still estimate results for all items.

Each item is sampled with a probability that grows with its usefulness, such as how much metrics disagree on it. Results
weight each judged item by the inverse of its probability (docs/choosing.md).
"""
