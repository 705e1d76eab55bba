"""The evaluation server: challenges whose references stay hidden, and submissions to them."""
