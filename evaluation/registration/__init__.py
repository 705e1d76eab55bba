"""Plans registered before a study opens, and later compared with it (docs/registration.md)."""
