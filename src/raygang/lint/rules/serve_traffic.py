"""SRV: whether requests reach what is served: ports, hosts, proxies and the Service that KubeRay makes."""

from __future__ import annotations

from collections.abc import Iterator

from raygang.lint.model import Case, Edit, Found, Report, Rule, Unchecked
from raygang.lint.rules.pods_view import label, ray_container
from raygang.lint.rules.serve_words import service
from raygang.lint.serve import CONFIG, serve
from raygang.objects import Group, Version, at, count, mapping, sequence, text

_PORT = 8000  # Ray 2.x and KubeRay 1.4-1.7
_LOCAL = ("127.0.0.1", "localhost", "::1")
_PREFIXED = Version(1, 6)  # from here on a port named serve-... is one too
_LLM_WORDS = ("inference", "serve", "serving", "llm", "vllm", "chat", "endpoint", "openai")


def _ports(group: Group) -> dict[str, int]:
    container = ray_container(group)
    found = sequence(container.data.get("ports")) if container else ()
    return {text(at(port, "name")) or "": count(at(port, "containerPort"), 0) for port in found}


def _http(case: Case) -> Report:
    if serve(case).text is None:
        return
    options = mapping(serve(case).config.get("http_options"))
    path = (*CONFIG, "http_options")
    host = options.get("host")
    if host in _LOCAL:
        yield Found((*path, "host"), f"Serve listens on {host} only", "write host: 0.0.0.0, or remove it")
    told = options.get("port", _PORT)
    for group in _served(case):
        ports = _ports(group)
        there = ports.get("serve", 0 if group.head and ports else _PORT)
        if there and isinstance(told, int) and there != told:
            what = f"Serve listens on {told}, and the port named serve of {label(group)} is {there}"
            blame = (*path, "port") if "port" in options else CONFIG
            yield Found(blame, what, f"write http_options.port: {there}, or containerPort: {told}")
            return


def _served(case: Case) -> Iterator[Group]:
    """The head, whose ports KubeRay's Service has; the workers' port is the one that its readiness probe asks."""
    yield case.groups[0]
    for group in case.workers:
        container = ray_container(group)
        if container is not None and "readinessProbe" not in container.data:
            yield group


def _no_port(case: Case) -> Report:
    if case.workload.kind != "RayService" or mapping(case.workload.manifest.data.get("spec")).get("serveService"):
        return
    container, ports = ray_container(case.groups[0]), _ports(case.groups[0])
    if container is None or not ports or "serve" in ports:
        return
    if any(name.startswith("serve-") for name in ports):
        if case.context.kuberay is None:
            yield Unchecked("KubeRay's version (--kuberay)")
        if case.context.kuberay is None or case.context.kuberay >= _PREFIXED:
            return
    named = next((name for name, port in ports.items() if port == _PORT), None)
    what = "the head's container has ports, and none of them is named serve"
    what += f": {_PORT} is named {named}" if named else ""
    fix: tuple[Edit, ...] = ()
    if named is None and "ports" in container.data:
        entry = {"name": "serve", "containerPort": _PORT}
        fix = (Edit("set", container.at("ports", len(sequence(container.data["ports"]))), entry),)
    yield Found(container.at("ports"), what, f"add {{name: serve, containerPort: {_PORT}}}", fix=fix)


def _no_endpoint(case: Case) -> Report:
    spec = mapping(case.workload.manifest.data.get("spec"))
    location = serve(case).config.get("proxy_location")
    if case.workload.kind != "RayService":
        return
    if location in ("Disabled", "NoServer"):
        yield Found((*CONFIG, "proxy_location"), "proxy_location is Disabled", "write HeadOnly or EveryNode")
    elif location == "HeadOnly" and spec.get("excludeHeadPodFromServeSvc") is True:
        what = "proxy_location is HeadOnly, and excludeHeadPodFromServeSvc takes the head out of the Service"
        yield Found(("spec", "excludeHeadPodFromServeSvc"), what, "remove excludeHeadPodFromServeSvc")


def _serve_service(case: Case) -> Report:
    path = ("spec", "serveService", "spec", "selector")
    selector = at(case.workload.manifest.data, *path)
    if case.workload.kind == "RayService" and selector:
        yield Found(path, "serveService has a selector of its own", "remove it", fix=(Edit("delete", path),), key=True)


def _cluster(case: Case) -> Report:
    workload = case.workload
    if workload.kind != "RayCluster" or workload.manifest.annotations.get("ray.io/enable-serve-service") == "true":
        return
    reason = serving(case)
    if reason:
        yield Found(("kind",), f"this is a RayCluster, and it is meant to serve: {reason}")


def serving(case: Case) -> str:
    """Why a cluster that is not a RayService is evidently meant to serve; empty where it is not."""
    return called(case) or ("its head has a port named serve" if "serve" in _ports(case.groups[0]) else "")


def called(case: Case) -> str:
    """The same by its name, for one that has GPUs."""
    words = case.workload.name.lower().replace("_", "-").split("-")
    word = next((word for word in words if word in _LLM_WORDS), None)
    gpu = any("gpu" in str(name) for group in case.workers for name in group.requests())
    return f"its name says {word}" if word and gpu else ""


_APP = "applications:\n- name: llm\n  import_path: app:llm\n"
_HEAD_PORT = "kind: RayService\nspec:\n  rayClusterConfig:\n    headGroupSpec:\n      template:\n        spec:\n" \
    "          containers:\n          - ports:\n            - {name: gcs-server, containerPort: 6379}\n" \
    "            - {name: dashboard, containerPort: 8265}\n            - {name: client, containerPort: 10001}\n" \
    "            - {name: %s, containerPort: 8000}\n"  # fmt: skip
_CONTROLLER = "KubeRay 1.6 ray-operator/controllers/ray"

RULES = (
    Rule(
        code="SRV001", name="cluster-not-service", severity="warning", title="a RayCluster that is meant to serve",
        because="it serves nothing: nobody deploys an application, makes a Service for it, or brings it back after a "
        "fault",
        why="A RayCluster is an empty Ray cluster. RayService deploys serveConfigV2 on it, checks it, and moves "
        "traffic. "
        "Who deploys by other means still needs the annotation ray.io/enable-serve-service for a Service.",
        write="write a RayService with serveConfigV2 and this spec as rayClusterConfig",
        since="KubeRay 1.0-1.7", source=f"{_CONTROLLER}/raycluster_controller.go reconcileServeService",
        bad="kind: RayCluster\nmetadata:\n  name: llama-inference\n"
        "  annotations: {ray.io/enable-serve-service: null}\n",
        good="kind: RayCluster\nmetadata:\n  annotations: {ray.io/enable-serve-service: 'true'}\n",
        check=_cluster,
    ),
    Rule(
        code="SRV013", name="serve-address", severity="error", title="Serve listens where nobody asks",
        because="the Service sends requests to a port or an address on which nothing listens: every request is refused",
        why="KubeRay makes the Service from the container's port named serve, or 8000, and asks the proxies there for "
        "their health. http_options of serveConfigV2 say where Serve really listens; nothing links the two. They take "
        "effect when Serve starts first: a later change is ignored.",
        write="write the same port in both, and host 0.0.0.0",
        since="KubeRay 1.4-1.7, Ray 2.x",
        source=f"{_CONTROLLER}/common/service.go:375-434; Ray 2.60 ray/dashboard/modules/serve/serve_head.py:171-186",
        bad=service(_APP + "http_options: {port: 9000}\n"), good=service(_APP + "http_options: {port: 8000}\n"),
        check=_http,
    ),
    Rule(
        code="SRV014", name="serve-port-missing", severity="error", title="the head has no port named serve",
        because="KubeRay makes no Service for the application: it reports an error at each attempt",
        why="Where the head's container lists ports, KubeRay takes those and no others. With none listed it takes its "
        "defaults, 8000 among them.",
        write="add a port named serve, or remove the list",
        since="KubeRay 1.4-1.7; serve-... 1.6-1.7", source=f"{_CONTROLLER}/common/service.go:217-231",
        bad=_HEAD_PORT % "http", good=_HEAD_PORT % "serve",
        check=_no_port,
    ),
    Rule(
        code="SRV015", name="no-endpoint", severity="error", title="no pod can get requests",
        because="the Service has no endpoint: every request is refused",
        why="Requests come in through Serve's proxies. proxy_location says which nodes have one, and "
        "excludeHeadPodFromServeSvc takes the head out of the Service.",
        write="let the head in, or have proxies on the workers",
        since="KubeRay 1.4-1.7, Ray 2.x",
        source=f"{_CONTROLLER}/common/pod.go:583-588; Ray 2.60 ray/serve/config.py:801",
        bad="kind: RayService\nspec:\n  excludeHeadPodFromServeSvc: true\n",
        good="kind: RayService\nspec:\n  excludeHeadPodFromServeSvc: false\n",
        check=_no_endpoint,
    ),
    Rule(
        code="SRV016", name="service-selector-ignored", severity="warning", title="serveService has a selector",
        because="KubeRay writes its own over it: the Service selects other pods than it says",
        why="KubeRay takes metadata, type and ports of serveService, and selects the pods that serve itself.",
        write="remove the selector; use a Service of your own for other pods",
        since="KubeRay 1.4-1.7", source=f"{_CONTROLLER}/common/service.go:233-239",
        bad="kind: RayService\nspec:\n  serveService: {spec: {selector: {app: llm}}}\n",
        good="kind: RayService\nspec:\n  serveService: {spec: {type: ClusterIP}}\n",
        check=_serve_service,
    ),
)  # fmt: skip
