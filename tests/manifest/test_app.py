"""What the Serve application is told of the network."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from raygang.fabric import prove
from raygang.manifest import app_arguments, render
from raygang.runtime.config import AppConfig
from tests.manifest.planned import FABRICS, planned


@pytest.mark.parametrize("fabric", FABRICS, ids=lambda fabric: "-".join(map(str, (fabric["type"], len(fabric)))))
def test_the_application_reads_what_the_fabric_has_to_show(fabric: dict[str, Any]) -> None:
    plan = planned(fabric={**fabric, "min_bandwidth": 90})
    (service,) = (obj for obj in render(plan).objects if obj["kind"] == "RayService")
    (application,) = yaml.safe_load(service["spec"]["serveConfigV2"])["applications"]
    assert AppConfig.model_validate(application["args"]).fabric == prove(plan.spec)


def test_only_what_is_no_default_is_written() -> None:
    assert app_arguments(planned(), "/m")["fabric"] == {"fabric": "auto"}
    found = app_arguments(planned(fabric={"type": "tcp", "interface": "eth0"}), "/m")["fabric"]
    assert found == {"fabric": "tcp", "transport": "Socket", "interface": "eth0"}


def test_nothing_is_looked_for_where_nobody_asks_or_nobody_is_there_to_talk_to() -> None:
    assert "fabric" not in app_arguments(planned(fabric={"probe": False}), "/m")
    alone = planned(nodes={"count": 1, "accelerators": 1}, parallelism={"tensor": 1, "pipeline": 1})
    assert "fabric" not in app_arguments(alone, "/m")
    assert "fabric" not in app_arguments(planned(), "/m", probe=False)
    assert AppConfig.model_validate(app_arguments(alone, "/m")).fabric is None
