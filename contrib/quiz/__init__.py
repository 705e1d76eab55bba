"""The quiz before the work: questions and known items that people must answer before they can work in a study."""
