"""The quiz before the work: questions and known items that people answer before a study lets them in."""
