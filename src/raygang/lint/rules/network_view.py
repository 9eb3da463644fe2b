"""What rules about networks look at: the pods with ranks of an engine, and the transport that NCCL would pick there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raygang.fabric import Effective, effective
from raygang.fabric.pod_network import PodNetwork, Variable
from raygang.lint.model import Case
from raygang.lint.rules.pods_view import Container, can_have_pods, gpus, ray_container
from raygang.lint.serve import serve
from raygang.objects import Group, Path, at, mapping

_KEY = "_ranks"


@dataclass(frozen=True)
class Ranks:
    """The pods of a group that have ranks, or a network device, or ask for RDMA."""

    group: Group
    container: Container
    effective: Effective

    @property
    def network(self) -> PodNetwork:
        """What their template says about the network."""
        return self.effective.network

    @property
    def env_path(self) -> Path:
        """Where their environment is, or would be."""
        return self.container.at("env") if "env" in self.container.data else self.container.path


def ranks(case: Case) -> tuple[Ranks, ...]:
    """Those of all groups that have pods, or can have some. Worked out once for each case."""
    known = vars(case).get(_KEY)
    if not isinstance(known, tuple):
        known = vars(case)[_KEY] = tuple(_ranks(case))
    return known


def _ranks(case: Case) -> Iterator[Ranks]:
    more = tuple(_runtime(case))
    for group in case.groups:
        container = ray_container(group)
        if container is None or not can_have_pods(case, group):
            continue
        found = effective(group, case.workload, case.bundle, more)
        if gpus(container) or found.devices or (found.meant and not group.head):
            yield Ranks(group, container, found)


def variables(case: Case, *names: str) -> Iterator[tuple[Ranks, Variable, str]]:
    """Variables of ranks that have a value in the manifests, each place once."""
    seen: set[tuple[Path, str]] = set()
    for one in ranks(case):
        for name in names:
            variable = one.network.variables.get(name)
            if variable is not None and variable.value and (variable.path, variable.name) not in seen:
                seen.add((variable.path, variable.name))
                yield one, variable, variable.value


def value_path(one: Ranks, variable: Variable) -> Path:
    """The field to set for another value of a variable."""
    written = one.container.variable(variable.name)
    return (*variable.path, "value") if written is not None and written.path == variable.path else variable.path


def _runtime(case: Case) -> Iterator[Variable]:
    """Those of runtime_env in serveConfigV2: the same on every node."""
    for application in serve(case).applications:
        places = [(at(application.data, "runtime_env", "env_vars"), application.at("runtime_env", "env_vars"))]
        places += [(llm.variables(), llm.at("runtime_env", "env_vars")) for llm in application.llms]
        for data, path in places:
            for name, value in mapping(data).items():
                yield Variable(str(name), str(value), (*path, str(name)))
