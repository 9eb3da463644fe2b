"""One truth about interconnects, a module per fabric. Nothing here yet."""
