"""One truth about gang scheduling, a module per scheduler. Nothing here yet."""
