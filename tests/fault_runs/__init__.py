"""A study's whole life while a fifth of all calls fail and the process that makes them is killed again and again."""
