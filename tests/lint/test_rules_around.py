"""Upgrades, the head, and objects beside a workload; and where findings in serveConfigV2 stand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raygang.gang import Context
from raygang.lint import Finding, Source, lint
from raygang.lint._yaml import Place, Tree, read
from raygang.objects import Version
from tests.lint.base import BASES, documents

SERVICE = "kind: RayService\n"
STRATEGY = SERVICE + "spec:\n  upgradeStrategy: "
BESIDE = SERVICE + "---\n"


def findings(fragment: str, context: Context | None = None) -> list[Finding]:
    text = "\n---\n".join(json.dumps(document) for document in documents(fragment))
    return list(lint([Source("x.yaml", text)], context).findings)


def of(code: str, fragment: str, context: Context | None = None) -> list[Finding]:
    return [finding for finding in findings(fragment, context) if finding.code == code]


OPTIONS = "{type: NewClusterWithIncrementalUpgrade, clusterUpgradeOptions: {%s}}\n"
AUTO = "  rayClusterConfig: {enableInTreeAutoscaling: true}\n"
STEPS = "gatewayClassName: istio, stepSizePercent: 10, intervalSeconds: 30"


@pytest.mark.parametrize(
    ("code", "fragment", "severity", "says"),
    [
        ("UPG001", STRATEGY + "{type: NewCluster}\n", "warning", "16 more GPUs"),
        ("UPG001", STRATEGY + OPTIONS % "maxSurgePercent: 20", None, ""),
        ("UPG003", STRATEGY + OPTIONS % STEPS, "error", "needs Ray's autoscaler"),
        ("UPG003", STRATEGY + OPTIONS % STEPS + AUTO, None, ""),
        ("UPG003", STRATEGY + OPTIONS % "stepSizePercent: 10, intervalSeconds: 30" + AUTO, "error", "gatewayClassName"),
        ("UPG003", STRATEGY + OPTIONS % (STEPS + ", maxSurgePercent: 150") + AUTO, "error", "maxSurgePercent is 150"),
        ("UPG003", "kind: RayCluster\nspec:\n  upgradeStrategy: {type: NewCluster}\n", "error", "of a RayCluster"),
        ("UPG006", SERVICE + "metadata: {annotations: {ray.io/initializing-timeout: 5m}}\n", "warning", "16 GPUs"),
        ("UPG006", SERVICE + "metadata: {annotations: {ray.io/initializing-timeout: '3600'}}\n", None, ""),
        ("UPG006", SERVICE + "metadata: {annotations: {ray.io/initializing-timeout: 1h30m}}\n", None, ""),
        ("UPG006", SERVICE + "metadata: {annotations: {ray.io/initializing-timeout: '0'}}\n", "error", "is 0"),
    ],
)  # fmt: skip
def test_upgrades(code: str, fragment: str, severity: str | None, says: str) -> None:
    found = of(code, fragment)
    assert [finding.severity for finding in found[:1]] == ([severity] if severity else [])
    assert not severity or says in found[0].what


def test_a_deadline_is_not_asked_for_where_kuberay_knows_none() -> None:
    without = SERVICE + "metadata: {annotations: {ray.io/initializing-timeout: null}}\n"
    assert of("UPG005", without, Context(kuberay=Version(1, 4))) == []
    assert len(of("UPG005", without, Context(kuberay=Version(1, 5)))) == 1


def beside(kind: str, spec: str, group: str = "v1", namespace: str = "models") -> str:
    return BESIDE + f"apiVersion: {group}\nkind: {kind}\nmetadata: {{name: x, namespace: {namespace}}}\nspec: {spec}\n"


def policy(ingress: str) -> str:
    everyone = "podSelector: {matchLabels: {ray.io/is-ray-node: 'yes'}}"
    return beside(
        "NetworkPolicy", f"{{{everyone}, policyTypes: [Ingress], ingress: [{ingress}]}}", "networking.k8s.io/v1"
    )


def budget(spec: str) -> str:
    return beside("PodDisruptionBudget", f"{{{spec}, selector: {{matchLabels: {{ray.io/group: gpus}}}}}}", "policy/v1")


@pytest.mark.parametrize(
    ("code", "fragment", "says"),
    [
        ("BUN001", beside("Service", "{selector: {ray.io/node-type: heads}}"), "no pod has ray.io/node-type: heads"),
        ("BUN001", beside("Service", "{selector: {ray.io/group: gpu}}"), "there are gpus, headgroup"),
        ("BUN001", beside("Service", "{selector: {ray.io/cluster: another}}"), None),
        ("BUN001", beside("Service", "{selector: {app: redis}}"), None),
        ("BUN001", beside("Service", "{selector: {ray.io/node-type: head}}"), None),
        ("BUN001", beside("Service", "{selector: {ray.io/node-type: heads}}", namespace="other"), None),
        ("BUN002", budget("minAvailable: 1"), "lets 1 of the 2 pods"),
        ("BUN002", budget("maxUnavailable: 50%"), "lets 1 of the 2 pods"),
        ("BUN002", budget("minAvailable: 100%"), None),
        ("BUN003", beside("ScaledObject", "{scaleTargetRef: {apiVersion: ray.io/v1, kind: RayCluster, name: llama}}", "keda.sh/v1alpha1"), "RayCluster llama"),
        ("BUN005", beside("ResourceQuota", "{hard: {pods: '2'}}"), "need 3"),
        ("BUN005", beside("ResourceQuota", "{hard: {limits.memory: 1Ti}}"), "need 1832Gi"),
        ("BUN005", beside("ResourceQuota", "{hard: {limits.memory: 2Ti, count/jobs.batch: '1'}}"), None),
        ("BUN005", beside("ResourceQuota", "{hard: {pods: '2'}}", namespace="other"), None),
        ("BUN006", beside("LimitRange", "{limits: [{type: Pod, max: {cpu: '32'}}]}"), "has 64"),
        ("BUN006", beside("LimitRange", "{limits: [{type: Pod, max: {example.com/nic: '-1', cpu: '-1'}}]}"), "max cpu is -1"),
        ("BUN007", policy("{from: [{podSelector: {}}]}"), None),
        ("BUN007", policy("{from: [{podSelector: {matchLabels: {ray.io/node-type: head}}}]}"), "from the worker group gpus"),
        ("BUN007", policy("{from: [{podSelector: {}}], ports: [{port: 6379}]}"), "on all ports"),
        ("BUN007", policy("{from: [{podSelector: {}}], ports: [{port: 1024, endPort: 65535}]}"), None),
        ("BUN007", policy("{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}"), None),
        ("BUN007", policy("{from: [{podSelector: {matchLabels: {ray.io/cluster: llama-x1x2x}}}]}"), None),
        ("BUN007", policy("{from: [{podSelector: {matchLabels: {ray.io/cluster: llama-x1x2x, ray.io/node-type: head}}}]}"), "the worker group gpus"),
        ("BUN007", policy("{from: [{podSelector: {matchLabels: {app: null}}}]}"), None),
    ],
)  # fmt: skip
def test_objects_beside(code: str, fragment: str, says: str | None) -> None:
    found = of(code, fragment)
    assert bool(found) == (says is not None)
    assert says is None or says in found[0].what


def test_the_name_of_a_raycluster_is_that_of_its_pods() -> None:
    selector = "apiVersion: v1\nkind: Service\nmetadata: {name: x, namespace: models}\nspec: {selector: {ray.io/cluster: llama}}\n"
    assert of("BUN001", "kind: RayCluster\n---\n" + selector) == []
    assert [finding.severity for finding in of("BUN001", BESIDE + selector)] == ["error"]


CONFIG = """\
apiVersion: ray.io/v1
kind: RayService
metadata:
  name: llama
spec:
  serveConfigV2: |{mark}
    # what is served

    applications:
    - name: llm
      import_path: ray.serve.llm:build_openai_app
      args:
        llm_configs:
        - model_loading_config: {{model_id: llama}}
          engine_kwargs:
            tensor_paralel_size: 8
  rayClusterConfig: {{}}
"""


@pytest.mark.parametrize("mark", ["", "-", "+", "2"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_finding_in_serve_config_is_on_its_line_of_the_file(mark: str, line_end: str) -> None:
    text = CONFIG.format(mark=mark).replace("\n", line_end)
    (finding,) = [f for f in lint([Source("x.yaml", text)]).findings if f.code == "ENG010"]
    assert (finding.line, finding.column, finding.end_line) == (16, 13, 16)
    assert finding.path == "spec.serveConfigV2.applications[0].args.llm_configs[0].engine_kwargs.tensor_paralel_size"


def test_a_fault_of_syntax_in_serve_config_is_on_its_line_of_the_file() -> None:
    text = CONFIG.format(mark="").replace("import_path: ", "import_path: [")
    (finding,) = [f for f in lint([Source("x.yaml", text)]).findings if f.code == "SRV003"]
    assert finding.line in (11, 12)


def test_a_text_that_is_no_block_is_blamed_as_a_whole() -> None:
    text = json.dumps(
        BASES["RayService"] | {"spec": BASES["RayService"]["spec"] | {"serveConfigV2": "applications: []\n"}}
    )
    (finding,) = [f for f in lint([Source("x.json", text)]).findings if f.code == "SRV004"]
    assert finding.line == 1


def test_a_comment_within_serve_config_ignores_a_finding_there() -> None:
    text = CONFIG.format(mark="").replace("size: 8", "size: 8  # raygang: ignore[ENG010] to see it fail")
    assert "ENG010" not in {finding.code for finding in lint([Source("x.yaml", text)]).findings}


@given(st.text(alphabet="ab:-# |>'\"{}[]&*\t\n01", max_size=60), st.integers(0, 5))
def test_any_text_in_serve_config_is_read(inner: str, depth: int) -> None:
    block = "".join(f"    {line}\n" for line in inner.split("\n"))
    text = CONFIG.format(mark="2").partition("    # what")[0] + block
    lint([Source("x.yaml", text)])
    for tree in read(text):
        if isinstance(tree, Tree):
            path = ("spec", "serveConfigV2", "applications", depth, "name")
            assert tree.place(path).line >= 1
            start, end = tree.span(path)
            assert 1 <= start <= end


def test_places_within_a_text_count_from_the_file() -> None:
    (tree,) = read("a:\n  b: |\n\n    c:\n      - d: 1\n    e: 2\n")
    assert isinstance(tree, Tree)
    assert tree.place(("a", "b", "c", 0, "d")) == Place(5, 12)
    assert tree.place(("a", "b", "e"), key=True) == Place(6, 5)
    assert tree.span(("a", "b", "c")) == (4, 5)
    assert tree.place(("a", "b")) == Place(2, 6)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 99)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "8", "auto", "a/b", "x" * 70]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "CPU", "GPU", "bundles"]), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = st.sampled_from([
    "num_replicas", "autoscaling_config", "max_ongoing_requests", "deployment_config", "engine_kwargs", "lora_config",
    "model_loading_config", "placement_group_config", "accelerator_type", "runtime_env", "tensor_parallel_size",
    "strategy", "bundle_per_worker", "env_vars", "max_num_seqs", "dtype", "min_replicas", "model_id", "ray_actor_options",
])  # fmt: skip


@given(
    st.dictionaries(
        FIELDS,
        VALUES | st.dictionaries(FIELDS, VALUES | st.dictionaries(FIELDS, VALUES, max_size=3), max_size=4),
        max_size=6,
    )
)
def test_values_of_any_type_are_no_crash(config: dict[str, object]) -> None:
    app = {
        "name": "llm",
        "import_path": "ray.serve.llm:build_openai_app",
        "deployments": [config],
        "args": {"llm_configs": [config]},
    }
    spec = BASES["RayService"]["spec"] | {"serveConfigV2": json.dumps({"applications": [app], "http_options": config})}
    lint([Source("x.json", json.dumps(BASES["RayService"] | {"spec": spec}))])
