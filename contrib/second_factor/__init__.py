"""A second factor for accounts: codes of an authenticator app (TOTP), and recovery codes."""
