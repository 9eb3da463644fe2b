"""NET: whether a pod's networks, its resources and the policies behind them have the same names."""

from __future__ import annotations

from raygang.fabric.annotations import Network
from raygang.fabric.device_pools import SRIOV, pools
from raygang.fabric.sriov_chain import Definition, definition, elsewhere
from raygang.lint.model import Case, Found, Report, Rule, Unchecked
from raygang.lint.rules.network_functions import OPERATOR, POD, functions, rail_network
from raygang.lint.rules.network_view import Ranks, ranks
from raygang.lint.rules.pods_view import label
from raygang.objects import at
from raygang.objects.words import counted


def _chain(case: Case) -> Report:
    for one in ranks(case):
        found = [item for each in one.network.networks for item in _link(one, each)]
        yield from found
        yield from _counts(one)
        if not any(isinstance(item, Found) for item in found):
            yield from _prefix(one)


def _link(one: Ranks, network: Network) -> Report:
    """A network is in the bundle, and takes a device that the pod has."""
    bundle = one.network.bundle
    known, space = definition(bundle, network), elsewhere(bundle, network)
    if known is not None:
        yield from _resource(one, network, known)
    elif space is not None:
        what = f"{label(one.group)} names the network {network}, which is in the namespace {space}"
        yield Found(one.network.networks_path, what, f"write {space}/{network.name}, or set networkNamespace")
    else:
        yield Unchecked(f"the network {network} (its NetworkAttachmentDefinition or SriovNetwork)")


def _resource(one: Ranks, network: Network, known: Definition) -> Report:
    resources = one.network.resources
    if not known.name or any(known.takes(resource.name) for resource in resources):
        return
    alike = [r for r in resources if r.name.partition("/")[2] == known.name] or [d.resource for d in functions(one)]
    injector = _injector(one)
    if not alike and injector is None:
        yield Unchecked("whether the network-resources-injector runs, which gives pods their networks' resources")
    elif alike or injector is False:
        has = f"it has {alike[0].name}" if alike else "it has none"
        what = f"the network {network} of {label(one.group)} takes a device of {known.resource}, and {has}"
        path = alike[0].path if alike else one.network.networks_path
        yield Found(path, what, f"ask for {known.resource} in resources.limits", key=True)


def _injector(one: Ranks) -> bool | None:
    """Whether the operator's webhook adds resources to pods; None where its configuration is not in the bundle."""
    config = next(one.network.bundle.find(SRIOV, "SriovOperatorConfig"), None)
    return None if config is None else at(config.data, "spec", "enableInjector") is True


def _counts(one: Ranks) -> Report:
    """Each network takes a device of its own."""
    found = [definition(one.network.bundle, each) for each in one.network.networks]
    for resource in one.network.resources:
        needed = sum(known is not None and known.takes(resource.name) for known in found)
        if needed > resource.amount:
            what = f"{label(one.group)} names {needed} networks of {resource.name}, and asks for "
            what += counted(resource.amount, "function")
            because = "the container runtime finds no device for the last network, and the pod does not start"
            yield Found(resource.path, what, f'write "{needed}"', because)


def _prefix(one: Ranks) -> Report:
    """A resource of a policy's name under another prefix than the operator's."""
    for resource in one.network.resources:
        prefix, _, name = resource.name.partition("/")
        alike = [pool for pool in pools(one.network.bundle) if pool.name == name and pool.prefix]
        if alike and not any(pool.prefix == prefix for pool in alike):
            what = f"{label(one.group)} asks for {resource.name}, and {alike[0].manifest.kind} "
            what += f"{alike[0].manifest.name} makes {alike[0]}"
            because = "no node has a resource of that name: the pods stay pending"
            yield Found(resource.path, what, f"ask for {alike[0]}", because, key=True)


RULES = (
    Rule(
        code="NET012", name="network-resource-differs", severity="error",
        title="a network, a resource and a policy that do not fit together",
        because="the network's plugin finds no device that was given to the pod, and the pod does not start",
        why="The names have to be one: `resourceName` of the policy, that of the SriovNetwork, and behind the prefix "
        "that of the pod's resource. The prefix is RESOURCE_PREFIX of the operator, openshift.io by default. A "
        "network's namespace is networkNamespace; without a namespace in the annotation the pod's own is looked in.",
        write="use one name", since=OPERATOR,
        source="sriov-network-operator api/v1/helper.go RenderNetAttDef; Multus docs",
        bad=rail_network("rail1") + POD, good=rail_network("rail0") + POD,
        check=_chain,
    ),
)  # fmt: skip
