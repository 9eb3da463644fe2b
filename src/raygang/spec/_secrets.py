"""What looks like a secret: as a value it is refused, and what may hold one is never shown in a message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from raygang.spec._typos import one_letter_apart

WORDS = ("token", "secret", "password", "passwd", "credential", "credentials", "apikey", "accesskey", "privatekey")
PLURALS = ("tokens", "secrets")
GRANTED = ("hf", "hub", "auth", "access", "api", "bearer", "session")  # tokens that let somebody in
REFERENCE = ("secret", "key", "env")  # what a reference to a secret is made of

_VALUE = re.compile(
    r"(?<![A-Za-z0-9])(hf_[A-Za-z0-9]{10,}|sk-[\w-]{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|eyJ[\w-]{16,}|AKIA\w{12,})"
    r"|//[^/\s:@]*:[^/\s@]+@"  # a password in an address
)
_NAME = re.compile(r"[\w.-]+")
_FIELD = re.compile(r"[\w./-]{1,320}")
_TOP = re.compile(r"[\w\"'][^#]*:")


def is_value(text: str) -> bool:
    """Whether a text holds what services hand out as a secret."""
    return _VALUE.search(text) is not None


def is_name(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return any(end in WORDS for end in _endings(name))


def is_special_token(name: str) -> bool:
    """Whether a name that ends in token is one of a vocabulary's, such as eos_token or image_token."""
    words = re.split(r"[_.-]", name.lower())
    return len(words) > 1 and words[-1] == "token" and words[-2] not in GRANTED


def names_one(text: str) -> bool:
    """Whether a text, be it a field's name or a line, has the name of a secret in it, perhaps misspelt."""
    ends = {end for name in set(_NAME.findall(text)) for end in _endings(name)}
    return any(one_letter_apart(end, word) for end in ends for word in WORDS)


@lru_cache(maxsize=64)  # a long line can have thousands of problems
def may_show(text: str) -> bool:
    """Whether a text may hold a secret."""
    return is_value(text) or names_one(text)


def may_show_unparsed(lines: Sequence[str], index: int) -> bool:
    """Whether a line of what is not YAML may hold a secret: it, or what stands above it in its top-level field."""
    top = next((i for i in range(index, -1, -1) if _TOP.match(lines[i])), 0)
    return any(map(may_show, lines[top : index + 1]))


def public(path: Sequence[str], known: str | None = None) -> tuple[str, ...]:
    """A field's path without what may be a secret itself, as in `token: {hf_...}` or `{token:hf_...}`.

    Args:
        path: the field's.
        known: the name that its last part was probably meant to be.
    """
    for i, part in enumerate(path[:-1]):
        if names_one(part) and path[i + 1] not in REFERENCE and known is None:
            path = path[: i + 1]
            break
    return tuple(map(_public_name, path))


def _public_name(name: str) -> str:
    start = _FIELD.match(name)
    if is_value(name) or start is None:
        return "..."
    return name if start.end() == len(name) else f"{start[0]}..."


def _endings(name: str) -> Iterator[str]:
    """The last word of a name, unless it counts or lists (max_num_batched_tokens), and its last two as one."""
    words = re.split(r"[^a-z0-9]+", name[-64:].lower())
    if len(words) == 1 or words[-1] not in PLURALS:
        yield words[-1]
    yield "".join(words[-2:])
