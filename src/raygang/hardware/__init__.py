"""Machines and accelerators: what this machine has (the catalogue comes with the planner)."""

from raygang.hardware.inventory import Inventory, Node
from raygang.hardware.machine import Gpu, Machine, disk_free, this_machine

__all__ = ["Gpu", "Inventory", "Machine", "Node", "disk_free", "this_machine"]
