"""The simulated answers of the platform's kinds, one module for each family of kinds."""
