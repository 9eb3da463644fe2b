"""What is handed to Ray: the Serve application's arguments (and, later, the Kubernetes objects)."""

from raygang.manifest.app import IMPORT_PATH, SERVE_ENVIRONMENT, app_arguments

__all__ = ["IMPORT_PATH", "SERVE_ENVIRONMENT", "app_arguments"]
