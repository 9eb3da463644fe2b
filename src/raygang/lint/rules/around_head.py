"""HEAD, OBS, AUTO: the head's size and work, what its dashboard shows, and autoscaling beside an engine."""

from __future__ import annotations

from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.pods_view import gpus, label, number, param, ray_container, ray_containers
from raygang.lint.rules.serve_shape import engines
from raygang.lint.serve import serve
from raygang.objects import Group, mapping, quantity

_GRAFANA, _PROMETHEUS, _FRAME = "RAY_GRAFANA_HOST", "RAY_PROMETHEUS_HOST", "RAY_GRAFANA_IFRAME_HOST"
_DEDUP = "RAY_DEDUP_LOGS"
_IN_CLUSTER = (".svc", ".cluster.local")
_GIB = 1024**3


def _grafana(case: Case) -> Report:
    head = ray_container(case.groups[0])
    grafana = head.variable(_GRAFANA) if head else None
    if head is None or grafana is None or grafana.value == "DISABLED" or head.data.get("envFrom"):
        return
    missing = [] if head.variable(_PROMETHEUS) else [f"{_PROMETHEUS} (http://localhost:9090 is asked then)"]
    inside = grafana.value is not None and any(part in grafana.value for part in _IN_CLUSTER)
    if inside and not head.variable(_FRAME):
        missing.append(f"{_FRAME} (browsers are sent to an address inside the cluster then)")
    if missing:
        yield Found(grafana.path, f"{_GRAFANA} is set without {' and without '.join(missing)}")


def _dedup(case: Case) -> Report:
    for container in ray_containers(case):
        found = container.variable(_DEDUP)
        if found is not None and not container.group.head:
            what = f"{_DEDUP} is set in {label(container.group)}, where no driver runs"
            index = found.path[-1]
            last = isinstance(index, int) and index == len(container.env) - 1
            yield Found(found.path, what, fix=(Edit("delete", found.path),) if last else ())


def _head_works(case: Case) -> Report:
    head = case.groups[0]
    container = ray_container(head)
    if not (any(engines(case)) or serve(case).llms) or container is None:
        return
    workers = any(gpus(worker) for worker in (ray_container(g) for g in case.workers) if worker is not None)
    if workers and _may_work(head) and not gpus(container):
        what = "the head has CPUs that actors may take"
        path = head.at("rayStartParams") if "rayStartParams" in head.data else head.path
        fix = (Edit("set", head.at("rayStartParams", "num-cpus"), "0"),) if not head.data.get("resources") else ()
        yield Found(path, what, fix=fix, key=True)


def _may_work(head: Group) -> bool:
    own = {str(name).lower(): value for name, value in mapping(head.data.get("resources")).items()}
    if "cpu" in own:
        return quantity(own["cpu"]) != 0
    return param(head, "num-cpus") is None or number(head, "num-cpus") not in (None, 0)


def _head_memory(case: Case) -> Report:
    container = ray_container(case.groups[0])
    memory = container.size("memory") if container else None
    if container is not None and memory is not None and memory < 4 * _GIB and serve(case).llms:
        which = "limits" if "memory" in container.sizes("limits") else "requests"
        what = f"the head has {container.sizes(which).get('memory')} of memory"
        yield Found(container.at("resources", which, "memory"), what)


def _autoscaled(case: Case) -> Report:
    if not case.workload.autoscaling:
        return
    for engine in engines(case):
        for group in case.workers:
            container = ray_container(group)
            each = gpus(container) if container is not None else 0
            if not each or engine.ranks <= each or len([g for g in case.workers if g.pods or g is group]) > 1:
                continue
            needed = -(-int(engine.gpus) // each)
            if group.min_pods < needed:
                what = f"{engine.llm.name} needs {needed} pods of {label(group)} at once, and "
                what += f"minReplicas keeps {group.min_pods}"
                path = group.at("minReplicas") if "minReplicas" in group.data else group.path
                yield Found(path, what, f"write minReplicas: {-(-needed // group.hosts)}")


def _mesh(case: Case) -> Report:
    for group in case.groups:
        for where, values in (("labels", group.template_labels()), ("annotations", group.template_annotations())):
            if str(values.get("sidecar.istio.io/inject")).lower() == "true":
                path = group.at("template", "metadata", where, "sidecar.istio.io/inject")
                yield Found(path, f"{label(group)} gets Istio's sidecar")


_HEAD = "kind: RayService\nspec:\n  rayClusterConfig:\n    headGroupSpec:\n"
_ENV = _HEAD + "      template:\n        spec:\n          containers:\n          - env:\n" \
    "            - {name: RAY_GRAFANA_HOST, value: 'http://grafana.monitoring.svc:3000'}\n"  # fmt: skip
_WORKER_ENV = "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n" \
    "        - env:\n" \
    "          - name: %s\n            value: '0'\n            valueFrom: null\n"  # fmt: skip
_AUTO = "kind: RayService\nspec:\n  rayClusterConfig:\n    enableInTreeAutoscaling: true\n    workerGroupSpecs:\n" \
    "    - minReplicas: %d\n"  # fmt: skip

RULES = (
    Rule(
        code="OBS001", name="grafana-incomplete", severity="warning", title="Grafana in Ray's dashboard, half set up",
        because="the dashboard's metrics stay empty",
        why="The dashboard needs three addresses: Grafana's and Prometheus' as the head reaches them, and Grafana's "
        "as a "
        "browser does. Those that are not set are localhost, or the same as the first.",
        write=f"set {_GRAFANA}, {_PROMETHEUS} and {_FRAME}",
        since="Ray 2.x", source="Ray 2.60 ray/dashboard/modules/metrics/metrics_head.py:39-160; "
        "KubeRay ray-operator/config/samples/ray-cluster.embed-grafana.yaml",
        bad=_ENV,
        good=_ENV + "            - {name: RAY_PROMETHEUS_HOST, value: 'http://prometheus.monitoring.svc:9090'}\n"
        "            - {name: RAY_GRAFANA_IFRAME_HOST, value: 'https://grafana.example.com'}\n",
        check=_grafana,
    ),
    Rule(
        code="OBS002", name="dedup-logs-on-workers", severity="info", title="a variable for drivers in worker pods",
        because="it does nothing there",
        why="RAY_DEDUP_LOGS is read by the process that prints the logs of a job, its driver. A job's driver runs in "
        "the "
        "head, or outside.",
        write="remove it",
        since="Ray 2.x", source="Ray 2.60 ray/_private/ray_logging/__init__.py:272",
        bad=_WORKER_ENV % "RAY_DEDUP_LOGS", good=_WORKER_ENV % "RAY_USAGE_STATS_ENABLED",
        check=_dedup,
    ),
    Rule(
        code="HEAD001", name="head-takes-work", severity="warning", title="replicas may run in the head",
        because="what runs there competes with the process that keeps the whole cluster together, and ends with it",
        why="The head has Ray's control store, Serve's controller and the dashboard. With CPUs to give it also gets "
        "replicas and, without GPUs, none of the ranks that they are to be near.",
        write='write num-cpus: "0" in rayStartParams of the head',
        since="Ray 2.x", source="Ray doc/source/cluster/kubernetes/user-guides/config.md, num-cpus",
        bad=_HEAD + "      rayStartParams: {num-cpus: null}\n", good=_HEAD + "      rayStartParams: {num-cpus: '0'}\n",
        check=_head_works,
    ),
    Rule(
        code="HEAD002", name="head-memory", severity="warning", title="little memory for the head",
        because="the head is killed when it is needed most, and the whole cluster with it",
        why="Ray's control store, dashboard and Serve's controller take 2 to 3 GiB before any work. Building an LLM "
        "application imports vLLM, which may happen in the head and takes as much again.",
        write="write 8Gi or more",
        since="Ray 2.44-2.60", source="Ray doc/source/cluster/kubernetes/user-guides/config.md, head pod resources",
        bad=_HEAD + "      template:\n        spec:\n          containers:\n          - resources:\n"
        "              requests: {memory: 2Gi}\n              limits: {memory: 2Gi}\n",
        good=_HEAD + "      template:\n        spec:\n          containers:\n          - resources:\n"
        "              requests: {memory: 16Gi}\n              limits: {memory: 16Gi}\n",
        check=_head_memory,
    ),
    Rule(
        code="AUTO010", name="autoscaled-gang", severity="warning", title="Ray's autoscaler makes a gang pod by pod",
        because="pods of an engine come one after the other: where not all fit, those that run hold their GPUs for "
        "nothing",
        why="Gang schedulers that know KubeRay count minReplicas. What the autoscaler adds above it is in no gang.",
        write="write minReplicas as the pods of a replica",
        since="KubeRay 1.4-1.7", source="KubeRay 1.6 ray-operator/controllers/ray/batchscheduler/volcano",
        bad=_AUTO % 0, good=_AUTO % 2,
        check=_autoscaled,
    ),
    Rule(
        code="BUN011", name="mesh-sidecar", severity="info", title="a service mesh's sidecar in Ray pods",
        because="Ray's ports, and those of NCCL and Gloo, go through a proxy: workers may fail to join, and ranks "
        "are slow",
        why="Istio's sidecar takes the pod's whole TCP traffic. KubeRay's documentation has the settings that make Ray "
        "work with it; ranks had better be left out of it.",
        write='set sidecar.istio.io/inject: "false", or exclude the ports',
        since="KubeRay 1.1-1.7", source="Ray doc/source/cluster/kubernetes/k8s-ecosystem/istio.md",
        bad=_HEAD + "      template: {metadata: {labels: {sidecar.istio.io/inject: 'true'}}}\n",
        good=_HEAD + "      template: {metadata: {labels: {sidecar.istio.io/inject: 'false'}}}\n",
        check=_mesh,
    ),
)  # fmt: skip
