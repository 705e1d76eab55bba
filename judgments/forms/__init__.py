"""The designer's forms: they explain and parse; the design and the services decide."""
