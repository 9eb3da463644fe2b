"""Objects as YAML with the reasons as comments, or as JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import LiteralScalarString, SingleQuotedScalarString
from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

from raygang.manifest.model import Rendered
from raygang.objects import Path

_YAML_1_1, _TEXT = Resolver(), "tag:yaml.org,2002:str"
_LETTERS = ("y", "Y", "n", "N")  # booleans in Go's reader, and not in Python's
WIDTH = 4096  # no line is folded: what is long is an expression or encoded


def to_yaml(data: Any) -> str:
    """Plain data as YAML."""
    return _dump(_commented(data, {}, ()))


def yaml_documents(rendered: Rendered) -> list[str]:
    """Each object as a YAML document, with comments."""
    return [_dump(_commented(obj, notes, ())) for obj, notes in zip(rendered.objects, rendered.comments, strict=True)]


def yaml_stream(rendered: Rendered) -> str:
    """All objects, for `kubectl apply -f -`; what the cluster must have stands above them."""
    head = "".join(f"# needs: {need}\n" for need in rendered.needs)
    return head + "---\n" + "---\n".join(yaml_documents(rendered))


def json_list(rendered: Rendered) -> str:
    """All objects as a List."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(rendered.objects)}, indent=2) + "\n"


def _dump(data: Any) -> str:
    yaml = YAML()
    yaml.width = WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.default_flow_style = False
    target = io.StringIO()
    yaml.dump(data, target)
    return target.getvalue()


def _commented(value: Any, notes: Mapping[Path, str], path: Path) -> Any:
    """The same data as ruamel's types, which carry comments."""
    if isinstance(value, Mapping):
        found = CommentedMap()
        for key, inner in value.items():
            found[_plain(key)] = _commented(inner, notes, (*path, key))
        for key in value:
            _note(found, _plain(key), notes.get((*path, key)), value[key], _depth(path))
        return found
    if isinstance(value, list | tuple):
        items = CommentedSeq(_commented(inner, notes, (*path, i)) for i, inner in enumerate(value))
        for index in range(len(value)):
            if why := notes.get((*path, index)):
                items.yaml_set_comment_before_after_key(index, before=why, indent=_depth(path))
        return items
    if isinstance(value, str) and "\n" in value:
        return LiteralScalarString(value)
    return _plain(value)


def _plain(value: Any) -> Any:
    """A text in quotes where YAML 1.1, which kubectl reads, takes it for something else: no, 0x1f, 1:30.

    YAML 1.2, which ruamel writes, would not quote these.
    """
    if isinstance(value, str) and (value in _LETTERS or _tag_in_1_1(value) != _TEXT):
        return SingleQuotedScalarString(value)
    return value


def _tag_in_1_1(value: str) -> str:
    return str(_YAML_1_1.resolve(ScalarNode, value, (True, False)))  # type: ignore[no-untyped-call]


def _note(found: CommentedMap, key: Any, why: str | None, value: Any, indent: int) -> None:
    """Behind a scalar, above anything longer."""
    if why is None:
        return
    if isinstance(value, Mapping | list | tuple):
        found.yaml_set_comment_before_after_key(key, before=why, indent=indent)
    else:
        found.yaml_add_eol_comment(why, key, column=0)


def _depth(path: Path) -> int:
    """Columns that the keys of a mapping at a path are indented: 2 for each mapping above, 4 for each list."""
    return sum(4 if isinstance(part, int) else 2 for part in path) - sum(
        2 for part, inner in pairwise(path) if isinstance(part, str) and isinstance(inner, int)
    )
