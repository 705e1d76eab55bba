"""Everything is killed again and again while people work here and at a crowd, a fifth of whose answers are lost."""
