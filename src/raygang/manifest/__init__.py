"""What is handed to Ray and to Kubernetes: the Serve application's arguments, and the objects of a deployment."""

from raygang.manifest.app import IMPORT_PATH, SERVE_ENVIRONMENT, app_arguments
from raygang.manifest.directory import write_directory
from raygang.manifest.emit import json_list, yaml_documents, yaml_stream
from raygang.manifest.model import Rendered
from raygang.manifest.render import render

__all__ = [
    "IMPORT_PATH",
    "SERVE_ENVIRONMENT",
    "Rendered",
    "app_arguments",
    "json_list",
    "render",
    "write_directory",
    "yaml_documents",
    "yaml_stream",
]
