"""SEC, POD: what a pod may do, what its namespace allows, and what Ray needs to write."""

from __future__ import annotations

from collections.abc import Iterator

from raygang.lint.model import Case, Found, Report, Rule, Unchecked
from raygang.lint.rules.pods_view import Container, all_containers, containers, label, param, ray_containers
from raygang.objects import Group, Path, at, mapping, sequence

_PSA = "pod-security.kubernetes.io/enforce"
# kubernetes.io/docs/concepts/security/pod-security-standards, baseline: what a container may add
_BASELINE = frozenset({
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
})  # fmt: skip
_HOST = ("hostNetwork", "hostPID", "hostIPC")


def _privileges(group: Group) -> Iterator[tuple[Path, str]]:
    """Fields that the profile baseline forbids."""
    for name in _HOST:
        if group.pod.get(name) is True:
            yield group.at("template", "spec", name), name
    for index, volume in enumerate(sequence(group.pod.get("volumes"))):
        if at(volume, "hostPath") is not None:
            yield group.at("template", "spec", "volumes", index, "hostPath"), "a hostPath volume"
    for container in containers(group):
        yield from _container_privileges(container)


def _container_privileges(container: Container) -> Iterator[tuple[Path, str]]:
    security = mapping(container.data.get("securityContext"))
    if security.get("privileged") is True:
        yield container.at("securityContext", "privileged"), "a privileged container"
    for index, name in enumerate(sequence(at(security, "capabilities", "add"))):
        if isinstance(name, str) and name not in _BASELINE:
            yield container.at("securityContext", "capabilities", "add", index), f"the capability {name}"
    for index, port in enumerate(sequence(container.data.get("ports"))):
        if at(port, "hostPort"):
            yield container.at("ports", index, "hostPort"), f"the host port {at(port, 'hostPort')}"


def _admission(case: Case) -> Report:
    level, known = _level(case)
    for group in case.groups:
        for path, what in _privileges(group):
            if not known:
                yield Unchecked(f"the label {_PSA} of the workload's namespace (its Namespace among the manifests)")
                return
            if level in ("baseline", "restricted"):
                space = case.workload.manifest.namespace
                found = f"{label(group)} has {what}, and the namespace {space} enforces {level}"
                yield Found(path, found, f"label the namespace {_PSA}: privileged, or do without {what}")


def _level(case: Case) -> tuple[object, bool]:
    space = case.workload.manifest.namespace
    there = next(iter(case.bundle.named("", "Namespace", space)), None)
    return (None, False) if there is None else (there.labels.get(_PSA), _PSA in there.labels)


def _privileged(case: Case) -> Report:
    for container in all_containers(case):
        if at(container.data, "securityContext", "privileged") is True:
            what = f"the container {container.name} of {label(container.group)} is privileged"
            yield Found(container.at("securityContext", "privileged"), what)


def _read_only(case: Case) -> Report:
    for container in ray_containers(case):
        if at(container.data, "securityContext", "readOnlyRootFilesystem") is not True:
            continue
        directory = (param(container.group, "temp-dir") or "/tmp/ray").strip("'\" ").rstrip("/")
        mounts = [str(at(m, "mountPath")).rstrip("/") for m in sequence(container.data.get("volumeMounts"))]
        if not any(directory == mount or directory.startswith(f"{mount}/") for mount in mounts):
            what = f"the root file system of {label(container.group)} is read-only, and {directory} is no volume"
            yield Found(container.at("securityContext", "readOnlyRootFilesystem"), what)


def _root(case: Case) -> Report:
    for container in all_containers(case):
        pod = mapping(container.group.pod.get("securityContext"))
        own = mapping(container.data.get("securityContext"))
        user, never = own.get("runAsUser", pod.get("runAsUser")), own.get("runAsNonRoot", pod.get("runAsNonRoot"))
        if never is True and user == 0 and not isinstance(user, bool):
            what = f"the container {container.name} has to run as another user than root, and runAsUser is 0"
            name = "runAsUser" if "runAsUser" in own else "runAsNonRoot"
            yield Found(container.at("securityContext", name) if own else container.path, what)


_HEAD = "kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n"
_OPEN = (
    "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: models\n"
    "  labels: {pod-security.kubernetes.io/enforce: LEVEL}\n---\n"
)
_NETWORK = _HEAD + "        hostNetwork: true\n        dnsPolicy: ClusterFirstWithHostNet\n"

RULES = (
    Rule(
        code="SEC001",
        name="pod-security",
        severity="error",
        title="the namespace does not allow what the pods need",
        because="the API server refuses the pods that KubeRay makes",
        why="Pod Security admission goes by a label of the namespace. baseline and restricted forbid the node's "
        "network, ports and directories, privileged containers and most capabilities, IPC_LOCK among them.",
        write="label the namespace privileged, or do without",
        since="Kubernetes 1.25 and later",
        source="kubernetes.io/docs/concepts/security/pod-security-standards",
        bad=_OPEN.replace("LEVEL", "baseline") + _NETWORK,
        good=_OPEN.replace("LEVEL", "privileged") + _NETWORK,
        check=_admission,
    ),
    Rule(
        code="SEC004",
        name="privileged",
        severity="warning",
        title="a privileged container",
        because="who gets into the container has the node",
        why="RDMA and GPUs need no privileges where device plugins give the devices: a resource such as rdma/hca, and "
        "the capability IPC_LOCK to register memory.",
        write="ask for devices in resources.limits, and add IPC_LOCK if RDMA needs it",
        since="Kubernetes, all versions",
        source="kubernetes.io/docs/concepts/security/pod-security-standards",
        bad=_HEAD + "        containers:\n        - securityContext: {privileged: true}\n",
        good=_HEAD + "        containers:\n        - securityContext: {privileged: false}\n",
        check=_privileged,
    ),
    Rule(
        code="POD005",
        name="read-only-root",
        severity="error",
        title="Ray cannot write its session",
        because="`ray start` ends with an error and the pod starts again and again",
        why="Ray keeps sockets and logs in /tmp/ray, or in temp-dir. With a read-only root file system that has to be "
        "a volume.",
        write="mount an emptyDir at /tmp",
        since="Ray 2.x",
        source="Ray 2.60 ray/_private/node.py _init_temp",
        bad=_HEAD + "        containers:\n        - securityContext: {readOnlyRootFilesystem: true}\n",
        good=_HEAD + "        containers:\n        - securityContext: {readOnlyRootFilesystem: true}\n"
        "          volumeMounts: [{name: tmp, mountPath: /tmp}]\n        volumes: [{name: tmp, emptyDir: {}}]\n",
        check=_read_only,
    ),
    Rule(
        code="POD006",
        name="root-and-not",
        severity="error",
        title="a container that has to be root and must not",
        because="the kubelet refuses to start the container",
        why="runAsNonRoot is checked against runAsUser before the container starts.",
        write="remove one of the two",
        since="Kubernetes, all versions",
        source="kubernetes pkg/kubelet/kuberuntime/security_context.go verifyRunAsNonRoot",
        bad=_HEAD + "        containers:\n        - securityContext: {runAsNonRoot: true, runAsUser: 0}\n",
        good=_HEAD + "        containers:\n        - securityContext: {runAsNonRoot: true, runAsUser: 1000}\n",
        check=_root,
    ),
)
