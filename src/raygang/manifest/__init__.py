"""What is handed to Ray: the Serve application's arguments (and, later, the Kubernetes objects)."""

from raygang.manifest.app import IMPORT_PATH, app_arguments

__all__ = ["IMPORT_PATH", "app_arguments"]
