"""Networks: NCCL's variables, devices for RDMA, SR-IOV's chain of names, and pods on the node's network."""

from __future__ import annotations

import json

import pytest

from raygang.fabric.sriov import NETWORKS
from raygang.lint import Finding, Outcome, Source, lint
from raygang.lint.fix import fix
from raygang.lint.rules.network_words import pods, service, sriov
from tests.lint.base import documents

HOST = "hostNetwork: true"
ROOT = "securityContext: {runAsUser: 0, capabilities: {add: [IPC_LOCK]}}"
SHARED, RAIL, EFA = "rdma/ib: '1'", "openshift.io/rail0: '1'", "vpc.amazonaws.com/efa: '32', hugepages-2Mi: 5120Mi"
RAIL0 = f"{NETWORKS}: models/rail0"
IB = {"NCCL_NET": "IB"}
UNSET = {"NCCL_NET": ""}
TOPICS = ("NET", "HOST")


def outcome(fragment: str) -> Outcome:
    return lint([Source("x.yaml", "\n---\n".join(json.dumps(document) for document in documents(fragment)))])


def network_codes(fragment: str) -> set[str]:
    return {finding.code for finding in outcome(fragment).findings if finding.code.startswith(TOPICS)}


def of(code: str, fragment: str) -> list[Finding]:
    return [finding for finding in outcome(fragment).findings if finding.code == code]


def needs(code: str, fragment: str) -> list[str]:
    return [line for line in outcome(fragment).unchecked if line.startswith(code)]


@pytest.mark.parametrize(
    "fragment",
    [
        pods(IB | {"NCCL_IB_HCA": "=mlx5_0,mlx5_1:1", "NCCL_SOCKET_IFNAME": "=eth0"}, SHARED, container=ROOT),
        pods(IB | {"NCCL_IB_HCA": "mlx5", "NCCL_SOCKET_IFNAME": "ib0"}, SHARED, container=ROOT),
        pods(IB, RAIL, container=ROOT, annotations=RAIL0),
        pods({"NCCL_NET": "AWS Libfabric", "FI_PROVIDER": "efa"}, EFA, container="image: our/vllm:1"),
        pods({"NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": "eth0"}),
        pods({"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "^lo,docker"}),
    ],
)
def test_what_works_has_no_finding(fragment: str) -> None:
    assert network_codes(fragment) == set()


@pytest.mark.parametrize(
    ("code", "fragment", "severity"),
    [
        ("NET001", pods({"NCCL_SOCKET_IFNAME": "=ib0"}), "error"),  # there is no ib0 in a pod
        ("NET001", pods({"NCCL_SOCKET_IFNAME": "ibs17"}, spec=HOST), "warning"),
        ("NET001", pods({"NCCL_SOCKET_IFNAME": "^ib"}, spec=HOST), None),
        ("NET001", pods({"NCCL_SOCKET_IFNAME": "=bond0"}, spec=HOST), None),
        ("NET002", pods({"NCCL_SOCKET_IFNAME": "bond0"}, spec=HOST), "warning"),
        ("NET002", pods({"NCCL_SOCKET_IFNAME": "eth"}, spec=HOST), None),
        ("NET002", pods({"NCCL_SOCKET_IFNAME": "eth0"}), None),  # a pod has but one
        ("NET003", pods(UNSET | {"NCCL_IB_HCA": "mlx5"}, spec=HOST), "error"),
        ("NET003", pods(IB, "example.com/thing: '1'"), None),  # which may be one
        ("NET003", pods(IB, container="securityContext: {privileged: true}"), None),
        ("NET003", pods(IB, spec="resourceClaims: [{name: nic}]"), None),
        ("NET003", pods({"NCCL_NET": "Socket", "NCCL_IB_HCA": "mlx5"}), None),  # NET021 says it
        ("NET004", pods(UNSET, SHARED), "info"),
        ("NET004", pods(UNSET, SHARED, container="envFrom: [{secretRef: {name: nccl}}]"), None),
        ("NET005", pods({"NCCL_NET": "Socket"}, SHARED), "error"),
        ("NET005", pods(UNSET | {"NCCL_IB_DISABLE": "1"}, RAIL, annotations=RAIL0), "warning"),
        ("NET005", pods(UNSET | {"NCCL_IB_DISABLE": "0"}, SHARED), None),
        ("NET005", pods({"NCCL_NET": "Socket"}, EFA), None),
        ("NET006", pods(IB | {"NCCL_IB_HCA": "mlx5_0"}, SHARED), None),
        ("NET006", pods(IB | {"NCCL_IB_HCA": "^mlx5_1"}, SHARED), "warning"),
        ("NET007", pods(IB | {"NCCL_IB_GID_INDEX": "-1"}, SHARED), None),
        ("NET008", pods(IB | {"NCCL_NET_GDR_LEVEL": "sys"}, SHARED), "warning"),
        ("NET008", pods(IB | {"NCCL_NET_GDR_LEVEL": "LOC"}, SHARED), "warning"),
        ("NET008", pods(IB | {"NCCL_NET_GDR_LEVEL": "SYS"}, SHARED), None),
        ("NET009", pods(IB, SHARED, spec=HOST), None),  # a shared device needs no network
        ("NET009", pods(IB, spec=HOST, annotations=RAIL0), "error"),
        ("NET010", pods(IB, SHARED), None),
        ("NET010", pods(IB, "nvidia.com/mlnxnics: '1'"), "error"),
        ("NET015", pods(IB, SHARED, container="securityContext: {privileged: true}"), None),
        ("NET015", pods({"NCCL_NET": "Socket"}, SHARED), None),
        ("NET015", pods(UNSET, RAIL, annotations=RAIL0), None),  # a fast interface for TCP, perhaps
        ("NET015", pods(UNSET, "openshift.io/roce_rail0: '1'", annotations=RAIL0), "warning"),
        ("NET016", pods(IB, SHARED, container=ROOT.replace("0", "1000")), "warning"),
        ("NET016", pods(IB, SHARED, container="image: our/vllm:1\n          " + ROOT), None),
        ("NET017", pods(IB, SHARED, container="image: our/vllm:1"), None),
        ("NET017", pods({"NCCL_NET": "Socket"}, container="image: rayproject/ray:2.60.0-py311-cu128"), None),
        ("NET019", service(pods({"NCCL_SOCKET_IFNAME": "=eth0", "GLOO_SOCKET_IFNAME": "eth1"}, spec=HOST)), "info"),
        ("NET019", service(pods({"NCCL_SOCKET_IFNAME": "eth", "GLOO_SOCKET_IFNAME": "eth1"}, spec=HOST)), None),
        ("NET019", service(pods({"NCCL_SOCKET_IFNAME": "^lo", "GLOO_SOCKET_IFNAME": "eth1"}, spec=HOST)), None),
        ("NET021", pods({"NCCL_NET": "Socket", "NCCL_IB_HCA": "mlx5"}), "warning"),
        ("NET021", pods({"NCCL_NET": "AWS Libfabric", "NCCL_NET_PLUGIN": "none"}, EFA), "error"),
        ("NET022", pods({"NCCL_NET": "infiniband"}, SHARED), "error"),
        ("NET022", pods({"NCCL_NET": "eth0"}), "error"),
        ("NET022", pods({"NCCL_NET": "mlx5_0"}, SHARED), "error"),
        ("NET022", pods({"NCCL_NET": "socket"}), None),
        ("NET022", pods({"NCCL_NET": "UCX"}, SHARED), None),  # a plugin's, perhaps
        ("NET022", pods({"NCCL_NET": "AWS Libfabric"}, EFA), "error"),  # not in Ray's own image
        ("NET022", pods({"NCCL_NET": "AWS Libfabric"}, EFA, container="image: our/vllm:1"), None),
        ("NET024", pods({"GLOO_SOCKET_IFNAME": "^lo"}, spec=HOST), "error"),
        ("NET025", pods(IB | {"NCCL_IB_HCA": "ibp"}, SHARED), None),
        ("NET025", pods(IB | {"NCCL_IB_HCA": "mlx5_bond_0"}, SHARED), None),
        ("NET025", pods(IB | {"NCCL_IB_HCA": "eth0"}, SHARED), "error"),
        ("NET026", pods({"NCCL_P2P_DISABLE": "off"}), "error"),
        ("NET026", pods({"NCCL_IB_TIMEOUT": "0x16"}), None),
        ("NET028", service(pods({"NCCL_NET": "", "NCCL_SOCKET_IFNAME": "=eth0"})), "info"),
        ("NET028", service(pods(UNSET, spec=HOST)), None),
        ("NET030", pods({"GLOO_SOCKET_IFNAME": "lo"}), "error"),
        ("NET031", pods({"NCCL_P2P_DISABLE": "1"}, "nvidia.com/gpu: '1'"), None),
        ("NET033", pods({"GLOO_IFACE": "eth0"}), "warning"),
        ("NET033", pods({"NCCL_FASTRAK_IFNAME": "eth1"}), None),
        ("HOST001", pods(spec=HOST, group="rayStartParams: {metrics-export-port: '8080'}"), None),
        ("HOST003", pods(limits="nvidia.com/gpu: '1'"), None),
    ],
)  # fmt: skip
def test_a_fault_has_its_severity(code: str, fragment: str, severity: str | None) -> None:
    found = [f for f in of(code, fragment) if "does nothing: EFA" not in f.what]
    assert sorted({finding.severity for finding in found}) == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("fragment", "old", "new"),
    [
        (pods({"NCCL_SOCKET_IFNAME": "bond0"}, spec=HOST), "bond0", "=bond0"),
        (pods(IB | {"NCCL_IB_HCA": "^mlx5_1"}, SHARED), "^mlx5_1", "^=mlx5_1"),
        (pods({"GLOO_SOCKET_IFNAME": "=eth0"}), "=eth0", "eth0"),
        (pods({"NCCL_IB_DISABLE": "true"}), "true", "1"),
    ],
)
def test_a_value_with_one_right_answer_is_mended(fragment: str, old: str, new: str) -> None:
    (fixed,) = fix([Source("x.json", json.dumps(documents(fragment)[0], indent=1))])
    assert f'"value": "{old}"' not in fixed.new
    assert f'"value": "{new}"' in fixed.new


def test_an_infiniband_interface_is_not_made_an_exact_one() -> None:
    (finding,) = of("NET002", pods({"NCCL_SOCKET_IFNAME": "ib0"}, spec=HOST))
    assert finding.fix == ()


def test_what_asks_for_rdma_without_a_device_is_told_with_the_first_cause() -> None:
    (finding,) = of("NET003", pods(IB, spec=HOST))
    assert finding.what == (
        "NCCL_NET: IB asks for RDMA, and the worker group gpus has no device for it: "
        "NCCL's IB needs a device: no resource gives this pod /dev/infiniband/uverbs*"
    )
    assert finding.because == "NCCL finds no network and ends with an error"


def network(**spec: str) -> str:
    fields = {"resourceName": "rail0", "networkNamespace": "models"} | spec
    return sriov("SriovNetwork", "rail0", json.dumps(fields)[1:-1]) + "---\n"


def policy(**spec: object) -> str:
    return (
        sriov("SriovNetworkNodePolicy", "p", json.dumps({"resourceName": "rail0", "isRdma": True} | spec)[1:-1])
        + "---\n"
    )


OPERATOR = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: sriov-network-operator}\nspec: {template: {spec: "
    "{containers: [{name: a, env: [{name: RESOURCE_PREFIX, value: nvidia.com}]}]}}}\n---\n"
)
INJECTOR = sriov("SriovOperatorConfig", "default", "enableInjector: true") + "---\n"
POD = pods(IB, RAIL, container=ROOT, annotations=RAIL0)
BARE = pods(IB, container=ROOT, annotations=RAIL0)


@pytest.mark.parametrize(
    ("bundle", "codes"),
    [
        (network() + policy() + POD, set()),
        (INJECTOR + network() + policy() + BARE, set()),  # the injector gives the pod its resource
        (INJECTOR.replace("true", "false") + network() + policy() + BARE, {"NET012"}),
        (network(networkNamespace="other") + policy() + POD, {"NET012"}),
        (network(resourceName="rail1") + policy() + POD, {"NET012", "NET020"}),
        (OPERATOR + network() + policy() + POD, {"NET012"}),  # nvidia.com/rail0
        (OPERATOR + network() + policy() + POD.replace("openshift.io", "nvidia.com"), set()),
        (network() + policy(isRdma=False) + POD, {"NET014"}),
        (network() + policy(deviceType="vfio-pci") + POD, {"NET014", "NET034"}),
        (network() + policy() + POD.replace("models/rail0", "'models/rail0,models/rail0'"), {"NET012"}),
    ],
)
def test_every_link_from_the_pod_to_the_policy_is_followed(bundle: str, codes: set[str]) -> None:
    errors = {finding.code for finding in outcome(bundle).findings if finding.severity == "error"}
    assert {code for code in errors if code.startswith(TOPICS)} == codes


def pool(mode: str) -> str:
    return sriov("SriovNetworkPoolConfig", "workers", f"rdmaMode: {mode}") + "---\n"


PLUGIN = '{ "type" : "rdma" }'


@pytest.mark.parametrize(
    ("bundle", "code"),
    [
        (policy(linkType="IB") + network(), "NET035"),
        (policy(linkType="eth") + network(), None),
        (policy(linkType="eth") + network().replace("SriovNetwork", "SriovIBNetwork"), "NET035"),
        (policy() + network(), None),
        (pool("exclusive") + policy() + network(), "NET036"),
        (pool("exclusive") + policy() + network(metaPlugins=PLUGIN), None),
        (pool("shared") + policy() + network(metaPlugins=PLUGIN), "NET036"),
        (pool("shared") + policy() + network(), None),
        (pool("shared") + pool("exclusive") + policy() + network(), None),  # which nodes has it?
        (pool("exclusive") + policy(isRdma=False) + network(), None),
    ],
)
def test_links_and_modes_of_the_operators_objects_go_together(bundle: str, code: str | None) -> None:
    assert network_codes(bundle) == ({code} if code else set())


def test_a_policy_is_blamed_where_it_stands() -> None:
    (finding,) = of("NET014", policy(deviceType="vfio-pci", isRdma=False) + POD)
    assert (finding.object, finding.path) == ("SriovNetworkNodePolicy/p", "spec.deviceType")
    assert "no kernel network driver and no RDMA device" in finding.because


def test_what_is_not_in_the_bundle_is_not_guessed() -> None:
    assert needs("NET012", POD) == [
        "NET012 (a network, a resource and a policy that do not fit together): not checked, needs the network "
        "models/rail0 (its NetworkAttachmentDefinition or SriovNetwork)"
    ]
    assert needs("NET032", POD)
    assert needs("NET003", BARE), "the injector may give the pod its device"
    assert needs("NET020", network())
    assert needs("NET022", pods({"NCCL_NET": "UCX"}, SHARED))
    assert needs(
        "NET016", pods(IB, SHARED, container="image: our/vllm:1\n          " + ROOT.replace("runAsUser: 0, ", ""))
    )


@pytest.mark.parametrize(
    ("text", "code", "new"),
    [
        (policy(nicSelector={"pfName": ["ens1f0"]}), "NET013", '"pfNames"'),
        (policy(nicSelector={"deviceID": 1017}), "NET013", '"1017"'),
        (network(metaPluginsConfig="{}"), "NET013", "metaPlugins"),
        (network(resourceName="openshift.io/rail0") + policy(), "NET020", '"rail0"'),
    ],
)
def test_the_operators_objects_are_mended_without_a_workload(text: str, code: str, new: str) -> None:
    assert of(code, text)
    whole = "\n---\n".join(json.dumps(document, indent=1) for document in documents(text))
    (fixed,) = fix([Source("x.yaml", whole)])
    assert new in fixed.new
    assert code not in {f.code for f in lint([Source("x.yaml", fixed.new)]).findings}


def test_variables_of_a_runtime_env_count_like_those_of_pods() -> None:
    config = {
        "applications": [
            {"name": "llm", "route_prefix": "/", "import_path": "ray.serve.llm:build_openai_app",
             "args": {"llm_configs": [{"model_loading_config": {"model_id": "m"},
                                       "engine_kwargs": {"tensor_parallel_size": 8, "pipeline_parallel_size": 2},
                                       "runtime_env": {"env_vars": {"NCCL_NET": "tcp"}}}]}}
        ]
    }  # fmt: skip
    text = f"kind: RayService\nspec:\n  serveConfigV2: '{json.dumps(config)}'\n"
    (finding,) = of("NET022", text)
    assert finding.path == "spec.serveConfigV2.applications[0].args.llm_configs[0].runtime_env.env_vars.NCCL_NET"
    assert finding.write == "write Socket"


def test_a_model_in_one_pod_has_no_network() -> None:
    one = "tensor_parallel_size: 8\n          "
    text = (
        "kind: RayService\nspec:\n  serveConfigV2: |\n    applications:\n    - name: llm\n      route_prefix: /\n"
        "      import_path: ray.serve.llm:build_openai_app\n      args:\n        llm_configs:\n"
        "        - model_loading_config: {model_id: m}\n          engine_kwargs:\n            " + one.strip() + "\n"
        "  rayClusterConfig:\n    workerGroupSpecs:\n    - template: {spec: {containers: [{env: "
        "[{name: NCCL_NET, value: ''}]}]}}\n"
    )
    assert of("NET028", text) == []
    assert of("NET028", text.replace("size: 8", "size: 16"))


@pytest.mark.parametrize("value", [None, 1, [], ["x"], {"a": 1}])
def test_what_has_a_wrong_type_is_no_crash(value: object) -> None:
    broken = json.dumps(value)
    for text in (
        pods(IB, spec=f"hostNetwork: true\n        volumes: {broken}\n        securityContext: {{sysctls: {broken}}}"),
        pods(IB, RAIL, annotations=f"{NETWORKS}: {broken}", container=f"securityContext: {broken}"),
        sriov("SriovNetworkNodePolicy", "x", f"resourceName: {broken}, nicSelector: {broken}, deviceType: {broken}"),
        sriov("SriovNetwork", "x", f"resourceName: {broken}, networkNamespace: {broken}"),
    ):
        outcome(text)
