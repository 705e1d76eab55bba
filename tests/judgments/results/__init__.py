"""Result files of Mechanical Turk, written by hand after the forms that public ones have."""
