"""Models of the Hugging Face hub, in huggingface_hub's own cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

from raygang.checkpoint._progress import Progress
from raygang.spec import ModelSpec, UserError

CONFIG = ("config.json",)
FILES = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken")
OFFLINE = (
    "without a network, name a directory in model.source (./my-model), or fetch it once where there is one "
    "(hf download {name}), bring its cache to {cache} and set HF_HUB_OFFLINE=1 (HF_HOME names another place for it)"
)


def snapshot(model: ModelSpec, tell: Progress, files: tuple[str, ...] = FILES) -> Path:
    """Fetch what of these files is not in the cache yet.

    Raises:
        UserError: with exit code 3 where the hub could not be reached or failed, else 2.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    name, revision = model.source.value, model.revision
    token = _token(model)
    # Its HTTP client's errors are no OSErrors in every version, and the client changed twice.
    unreachable = cast("tuple[type[Exception], ...]", (OSError, *HfHubHTTPError.__bases__))
    try:
        found = snapshot_download(
            name, revision=revision, token=token, allow_patterns=list(files), tqdm_class=_bars(f"fetching {name}", tell)
        )
    except HFValidationError as e:
        raise UserError(f"{name} is no name of a hub model: {e}") from None
    except unreachable as e:
        raise _explain(e, model) from e
    return Path(found)


def _explain(error: BaseException, model: ModelSpec) -> UserError:
    from huggingface_hub import errors

    name = model.source.value
    if isinstance(error, errors.GatedRepoError):
        hint = "accept its terms on its page of the hub, and name your token in model.token ({env: HF_TOKEN})"
        return UserError(f"{name} is gated: the hub gives it to those who accepted its terms", hint=hint)
    if isinstance(error, errors.RevisionNotFoundError):
        return UserError(f"model.revision: {name} has no revision {model.revision!r}")
    if isinstance(error, errors.RepositoryNotFoundError) or _status(error) in (401, 403):
        hint = "check the name; for a private model, name a token in model.token ({env: HF_TOKEN})"
        return UserError(f"{name}: the hub has no such model, or does not show it to you", hint=hint)
    if isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError):
        what = f"{name} cannot be written to the hub's cache: {error.strerror}"
        return UserError(what, hint="make room, or set HF_HOME to a directory on a larger disk", exit_code=1)
    return _unreachable(error, name)


def _unreachable(error: BaseException, name: str) -> UserError:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        why = "HF_HUB_OFFLINE is set"
    else:
        cause = error.__cause__ or error
        status = _status(cause)
        why = f"the hub answered {status}" if status else f"the hub cannot be reached ({_first_line(cause)})"
    what = f"{name} is not in the local cache, and {why}"
    return UserError(what, hint=OFFLINE.format(name=name, cache=constants.HF_HUB_CACHE), exit_code=3)


def _status(error: BaseException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:160]


def _token(model: ModelSpec) -> str | None:
    if model.token is None or model.token.env is None:
        return None  # huggingface_hub finds the user's own; a Kubernetes Secret is for there
    value = os.environ.get(model.token.env)
    if not value:
        raise UserError(f"model.token names the variable {model.token.env}, which is not set")
    return value


def _bars(what: str, tell: Progress) -> type[Any]:
    """A progress bar that shows nothing and tells the bytes."""
    from huggingface_hub.utils.tqdm import tqdm

    class Told(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            # There are bars for files and for bytes on the network, too; only this one grows to the whole size.
            self._counts = "incomplete total" in str(kwargs.get("desc"))
            self._bytes = int(kwargs.get("initial") or 0)
            super().__init__(*args, **(kwargs | {"disable": True}))  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> None:
            self._bytes += int(n or 0)
            if self._counts:
                tell(what, self._bytes, int(self.total or 0))

    return Told
