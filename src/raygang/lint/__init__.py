"""Findings on Ray manifests, also those that raygang did not write. Nothing here yet."""
