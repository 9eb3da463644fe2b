"""A throw-away control plane with simulated nodes. Nothing here yet."""
