"""Kubernetes and Ray objects as views on plain data that may be wrong, with the path of each field."""

from raygang.objects.bundle import Bundle, Manifest
from raygang.objects.entry import Entry
from raygang.objects.fields import Path, at, count, mapping, quantity, sequence, text
from raygang.objects.ray import Group, RayWorkload, ray_workloads
from raygang.objects.version import Version

__all__ = [
    "Bundle",
    "Entry",
    "Group",
    "Manifest",
    "Path",
    "RayWorkload",
    "Version",
    "at",
    "count",
    "mapping",
    "quantity",
    "ray_workloads",
    "sequence",
    "text",
]
