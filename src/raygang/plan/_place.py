"""Ranks on nodes: in order, and a tensor parallel group on one node wherever it can be."""

from __future__ import annotations

from raygang.plan.model import NodeShape


def stages_that_fit(tensor: int, nodes: int, per_node: int) -> int:
    """Pipeline stages that nodes hold; a stage spans nodes only where it is larger than one."""
    return nodes * (per_node // tensor) if tensor <= per_node else nodes * per_node // tensor


def nodes_needed(tensor: int, pipeline: int, per_node: int) -> int:
    """The fewest nodes that hold them."""
    if tensor <= per_node:
        return -(-pipeline // (per_node // tensor))
    return -(-tensor * pipeline // per_node)


def place(tensor: int, pipeline: int, nodes: int, per_node: int) -> tuple[NodeShape, ...]:
    """Ranks in order, as evenly as they go. They have to fit, with at least one for each node."""
    whole = pipeline >= nodes and stages_that_fit(tensor, nodes, per_node) >= pipeline and tensor <= per_node
    sizes = _even(pipeline, nodes, tensor) if whole else _even(tensor * pipeline, nodes, 1)
    starts = [sum(sizes[:i]) for i in range(nodes)]
    return tuple(NodeShape(i, tuple(range(s, s + n))) for i, (s, n) in enumerate(zip(starts, sizes, strict=True)))


def _even(units: int, nodes: int, size: int) -> list[int]:
    each, left = divmod(units, nodes)
    return [(each + (i < left)) * size for i in range(nodes)]
