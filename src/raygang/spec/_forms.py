"""The forms that names have in Kubernetes, in Linux and on the fabric."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class Form:
    """What a text must look like, for pydantic and for the JSON schema.

    Attributes:
        pattern: matches the whole of it; in the words that Python and ECMAScript share.
        words: the same in plain words, behind "must be".
        longest: characters.
        examples: for editors.
    """

    pattern: str
    words: str
    longest: int = 253
    examples: tuple[str, ...] = ()

    def check(self, value: str) -> str:
        """The text itself. Raises ValueError when it has another form."""
        if len(value) > self.longest:
            raise ValueError(f"at most {self.longest} characters (this has {len(value)})")
        if not re.fullmatch(self.pattern, value, re.ASCII):
            raise ValueError(self.words)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        own: dict[str, Any] = {"pattern": f"^(?:{self.pattern})$", "maxLength": self.longest}
        return {**handler(schema), **own} | ({"examples": list(self.examples)} if self.examples else {})


MAX_NAME = 40  # Kubernetes takes 63 characters; KubeRay and the names of our own objects add up to 23

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_LABEL_WORDS = "lower-case letters, digits and -, and no - at either end"
_WORD_WORDS = "letters, digits, -, _ and ., with a letter or digit at either end"

# Names in Kubernetes: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ (1.37)
Name = Annotated[  # KubeRay names Services by it, which begin with a letter
    str,
    Form(r"[a-z]([-a-z0-9]*[a-z0-9])?", f"{_LABEL_WORDS}, and a letter first", MAX_NAME, ("smollm2",)),
]
Namespace = Annotated[str, Form(_LABEL, _LABEL_WORDS, 63, ("inference",))]
ObjectName = Annotated[str, Form(_DOMAIN, "lower-case letters, digits, - and ., with a letter or digit at either end")]
SecretKey = Annotated[str, Form(r"[-\w.]+", "letters, digits, -, _ and .")]
LabelKey = Annotated[
    str, Form(rf"({_DOMAIN}/)?{_WORD}", f"a label's name: {_WORD_WORDS}, perhaps behind a domain and /", 317)
]
LabelValue = Annotated[str, Form(rf"({_WORD})?", _WORD_WORDS, 63)]
Queue = Annotated[str, Form(_WORD, _WORD_WORDS, 63, ("inference",))]  # each scheduler takes it as a label's value
Resource = Annotated[
    str,
    Form(rf"{_DOMAIN}/{_WORD}", "a domain, / and a name", 317, ("rdma/rdma_shared_device_ib", "vpc.amazonaws.com/efa")),
]
Network = Annotated[
    str,
    Form(
        rf"({_LABEL}/)?{_DOMAIN}(@[\w.-]+)?", "a network's name, perhaps behind a namespace and /", 253, ("ray/rail0",)
    ),
]
Interface = Annotated[str, Form(r"[\w.@-]+", "the name of a network interface", 15, ("eth0",))]  # Linux: IFNAMSIZ - 1
Hca = Annotated[str, Form(r"[A-Za-z]\w*(:\d+)?", "a device, perhaps with : and a port", 64, ("mlx5_0",))]
Image = Annotated[str, Form(r"[A-Za-z0-9][\w./:@+-]*", "the reference of a container image", 512)]
Version = Annotated[str, Form(r"\d+\.\d+\.\d+[\w.+-]*", "a version of three numbers", 64, ("2.60.0",))]
Release = Annotated[str, Form(r"\d+\.\d+(\.\d+)?", "a version such as 1.37 or 1.37.2", 64, ("1.37",))]
Variable = Annotated[str, Form(r"[A-Za-z_]\w*", "the name of an environment variable", 253, ("HF_TOKEN",))]
_CONTROL = r"\x00-\x1f\x7f"
Line = Annotated[
    str, Form(rf"[^\s{_CONTROL}]([^{_CONTROL}]*[^\s{_CONTROL}])?", "one line of text, without spaces at its ends")
]
