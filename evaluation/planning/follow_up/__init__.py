"""Follow up on results: more votes, adjudication, known items, new references."""
