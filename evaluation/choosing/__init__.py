"""Choose the items that tell systems apart, and weigh what people said of them back to all."""
