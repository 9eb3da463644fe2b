"""The only code that talks to an API server. Nothing here yet."""
