"""What Prolific is asked to do by the messages of the outbox."""
