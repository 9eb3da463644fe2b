import pytest

from tests.support import netns


@pytest.fixture(scope="session", autouse=True)
def able() -> None:
    """Networks can be made here."""
    if why := netns.missing():
        pytest.skip(why)
