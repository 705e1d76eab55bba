"""What results lead to: more votes, adjudication, known items, new references."""
