"""Labels and their selectors, and look-ups by them: a namespace may have thousands of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Generic, TypeVar

from raygang.objects import mapping, sequence

T = TypeVar("T")
Labels = Mapping[str, Any]
UNKNOWN = object()  # a label that is there, with a value that only the cluster knows
_ODD = object()  # in place of a value that no label can have, and no dictionary either


def selects(selector: Any, labels: Labels) -> bool | None:
    """Whether a label selector takes pods with these labels; None where that cannot be told."""
    answers = [_same(labels, str(key), value) for key, value in mapping(mapping(selector).get("matchLabels")).items()]
    for expression in sequence(mapping(selector).get("matchExpressions")):
        key, values = str(mapping(expression).get("key")), sequence(mapping(expression).get("values"))
        answers.append(_expression(labels, key, str(mapping(expression).get("operator")), values))
    if False in answers:
        return False
    return None if None in answers else True


def _same(labels: Labels, key: str, value: Any) -> bool | None:
    have = labels.get(key)
    if have is UNKNOWN:
        return None
    return bool(have == value)


def _expression(labels: Labels, key: str, operator: str, values: Any) -> bool | None:
    have = labels.get(key)
    if operator in ("Exists", "DoesNotExist"):
        return (have is not None) == (operator == "Exists")
    if have is UNKNOWN or operator not in ("In", "NotIn"):
        return None
    return (have in values) == (operator == "In")


class Labelled(Generic[T]):
    """Things by each of their labels."""

    def __init__(self, things: Iterable[tuple[T, Labels]]) -> None:
        """Each thing with its labels."""
        self._all: list[T] = []
        self._by: dict[str, dict[Hashable, list[T]]] = {}
        for thing, labels in things:
            self._all.append(thing)
            for key, value in labels.items():
                self._by.setdefault(key, {}).setdefault(_place(value), []).append(thing)

    def having(self, selector: Any) -> list[T]:
        """As few as can be told apart without looking at each, in their order, and all that it certainly selects."""
        found = (self._by.get(key, {}).get(value, []) for key, value in _pairs(selector))
        return min(found, key=len, default=self._all)

    def may_have(self, selector: Any) -> Iterable[T]:
        """The same, and all that it may select."""
        found = [(self._by.get(key, {}).get(value, []), self._unknown(key)) for key, value in _pairs(selector)]
        sure, perhaps = min(found, key=lambda lists: len(lists[0]) + len(lists[1]), default=(self._all, []))
        return chain(sure, perhaps)

    def _unknown(self, key: str) -> list[T]:
        return self._by.get(key, {}).get(UNKNOWN, [])

    def values(self, key: str) -> Iterable[Hashable]:
        """The values that a label has."""
        return self._by.get(key, {}).keys()


class Selectors:
    """Label selectors, each found by that of its matchLabels which the fewest of them ask for."""

    def __init__(self, selectors: Iterable[Any]) -> None:
        """Selectors as they stand in objects."""
        given = list(selectors)
        often = Counter(pair for selector in given for pair in _pairs(selector))
        self._others: list[Any] = []
        self._by: dict[str, dict[Hashable, list[Any]]] = {}
        self._rests: dict[str, dict[str, Any]] = {}
        for selector in given:
            key, value = min(_pairs(selector), key=often.__getitem__, default=(None, None))
            if key is None:
                self._others.append(selector)
                continue
            self._by.setdefault(key, {}).setdefault(value, []).append(selector)
            rest = _without(selector, key)
            self._rests.setdefault(key, {}).setdefault(repr(rest), rest)

    def may_take(self, labels: Labels) -> bool:
        """Whether one of them selects a pod with these labels; what cannot be told counts as yes."""
        return any(selects(selector, labels) is not False for selector in self._candidates(labels))

    def _candidates(self, labels: Labels) -> Iterator[Any]:
        yield from self._others
        for key, by_value in self._by.items():
            if labels.get(key) is UNKNOWN:  # it may have any of the values: only what else they ask for counts
                yield from self._rests[key].values()
            else:
                yield from by_value.get(_place(labels.get(key)), ())


def _pairs(selector: Any) -> list[tuple[str, Hashable]]:
    """Its matchLabels, but those with null, which a pod without the label has as well."""
    match = mapping(mapping(selector).get("matchLabels"))
    return [(str(key), _place(value)) for key, value in match.items() if value is not None]


def _without(selector: Any, label: str) -> dict[str, Any]:
    match = {key: value for key, value in selector["matchLabels"].items() if str(key) != label}
    return {**selector, "matchLabels": match}


def _place(value: Any) -> Hashable:
    return value if isinstance(value, str | int | float | None) or value is UNKNOWN else _ODD
