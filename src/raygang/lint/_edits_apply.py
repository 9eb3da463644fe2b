"""Steps made on a text, and proof that it then says exactly what it should."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from raygang.lint._edits_data import TEXT_FIELD, EditRefusedError, Step, changed, look, same, steps
from raygang.lint._edits_nodes import Splice
from raygang.lint._edits_text import Inside, kept, plan, spliced
from raygang.lint._yaml import Tree, read
from raygang.lint.model import Edit, Finding
from raygang.lint.source import Document, Read, Source, parse

_DAMAGE = "the text would not say the same in every other place"


Job = tuple[int, Step]  # a step, and the document of YAML that it is for


@dataclass(frozen=True)
class Target:
    """A step, the document of YAML that it is for, and its splices."""

    tree: int
    step: Step
    splices: list[Splice]
    inside: Inside | None


@dataclass(frozen=True)
class Text:
    """A text with its objects; `first` is the index of its first object in the bundle."""

    source: Source
    first: int

    @cached_property
    def read(self) -> Read:
        return parse(self.source, self.first)

    @cached_property
    def trees(self) -> list[Tree]:
        return list({id(document.tree): document.tree for document in self.read.documents}.values())

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {id(tree): number for number, tree in enumerate(self.trees)}

    def document(self, index: int) -> Document | None:
        """The object of an index in the bundle, where it is one of this text."""
        place = index - self.first
        return self.read.documents[place] if 0 <= place < len(self.read.documents) else None

    def wanted(self, finding: Finding) -> list[Job]:
        """A finding's fix as steps. Raises EditRefusedError where it has no ground."""
        document = self.document(finding.document)
        if document is None:
            raise EditRefusedError("its object is not there")
        return self.steps(document, finding.fix)

    def steps(self, document: Document, edits: Iterable[Edit]) -> list[Job]:
        """Edits of an object as steps, each with the document of YAML that it is for."""
        tree = self._numbers[id(document.tree)]
        data: Any = document.manifest.data
        found = []
        for edit in edits:
            data = _with_texts(data, edit.path)
            halves = steps(edit, data)
            source, comments = self._kept(document, edit) if len(halves) > 1 else (None, ())
            for step in halves:
                path = (*document.prefix, *step.path)
                found.append((tree, replace(step, path=path, source=source, comments=comments)))
                data = changed(data, step)
        return found

    def _kept(self, document: Document, edit: Edit) -> tuple[tuple[str, int] | None, tuple[str, ...]]:
        here, there = ((*document.prefix, *path) for path in (edit.path, edit.value))
        return kept(self.source.text, document.tree, here, there)

    def target(self, tree: int, step: Step) -> Target:
        return Target(tree, step, *plan(self.source.text, self.trees[tree], step))

    def after(self, targets: Iterable[Target]) -> Text:
        """The text with all of them made. Raises EditRefusedError where it would say anything else than it should."""
        made = list(targets)
        text = spliced(self.source.text, [s for target in made for s in target.splices])
        new = Text(Source(self.source.name, text), self.first)
        expected = self._expected(made)
        before, after = self.read, new.read
        sound = (
            len(new.trees) == len(expected)
            and len(after.documents) == len(before.documents)
            and [t.what for t in after.troubles + after.duplicates]
            == [t.what for t in before.troubles + before.duplicates]
            and [what for _, what in after.others] == [what for _, what in before.others]
            and all(same(tree.data, data) for tree, data in zip(new.trees, expected, strict=True))
        )
        if not sound:
            raise EditRefusedError(_DAMAGE)
        return new

    def _expected(self, targets: list[Target]) -> list[Any]:
        expected = [tree.data for tree in self.trees]
        inner: dict[tuple[int, Any], list[Inside]] = {}
        for target in targets:
            if target.inside is not None:
                inner.setdefault((target.tree, target.inside.path), []).append(target.inside)
            else:
                expected[target.tree] = changed(expected[target.tree], target.step)
        for (tree, path), inside in inner.items():
            old = look(self.trees[tree].data, path)[1]
            expected[tree] = changed(expected[tree], Step(path, _inner_after(old, inside)))
        return expected


def _inner_after(old: str, inside: list[Inside]) -> str:
    data = _data(old)
    for one in inside:
        data = changed(data, one.step)
    new = spliced(old, [splice for one in inside for splice in one.splices])
    if not same(_data(new), data):
        raise EditRefusedError(_DAMAGE)
    return new


def _data(text: str) -> Any:
    found = list(read(text))
    if len(found) != 1 or not isinstance(found[0], Tree):
        raise EditRefusedError("the text that it stands in is not one document of YAML")
    return found[0].data


def _with_texts(data: Any, path: tuple[str | int, ...]) -> Any:
    """Data in which a text on the way to a field is replaced by what it says."""
    if TEXT_FIELD not in path[:-1]:
        return data
    above = path[: path.index(TEXT_FIELD) + 1]
    there, value = look(data, above)
    return changed(data, Step(above, _data(value))) if there and isinstance(value, str) else data
