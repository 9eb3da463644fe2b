"""The specification: what the user writes, typed, with defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StrictBool

from raygang.spec._document import Document
from raygang.spec._errors import SpecError
from raygang.spec._forms import (
    Hca,
    Image,
    Interface,
    LabelKey,
    LabelValue,
    Line,
    Name,
    Namespace,
    Network,
    ObjectName,
    Queue,
    Release,
    Resource,
    SecretKey,
    Variable,
    Version,
)
from raygang.spec._quantities import (
    Annotations,
    Count,
    CountOrAuto,
    Cpus,
    Environment,
    Gigabits,
    Labels,
    Quantity,
    Seconds,
    quantity_bytes,
)
from raygang.spec._source import ModelSource


class Section(BaseModel):
    """A part of the specification: unknown fields are refused, values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True)


class SecretRef(Section):
    """A secret by reference, never by value: a key of a Kubernetes Secret, or a variable of the environment here."""

    secret: ObjectName | None = None
    """Name of a Kubernetes Secret in the deployment's namespace."""
    key: SecretKey = "token"
    """Key in that Secret."""
    env: Variable | None = None
    """Environment variable that holds the secret on this machine (for `raygang run`)."""


class ModelSpec(Section):
    """Which model."""

    source: ModelSource
    """demo:smollm2, a directory (./model), a GGUF file (./model.gguf) or a Hugging Face id (org/name)."""
    revision: Line = "main"
    """Branch, tag or commit on the Hugging Face hub."""
    served_name: Line | None = None
    """What clients write as `model`; the specification's name by default."""
    token: SecretRef | None = None
    """Token for the Hugging Face hub, by reference."""


class EngineSpec(Section):
    """vLLM."""

    args: dict[str, Any] = {}
    """vLLM's engine arguments by the names of its EngineArgs, for example max_model_len; passed on as they are."""
    env: Environment = {}
    """Environment variables of the engine's processes."""


class ParallelismSpec(Section):
    """How one replica is spread over GPUs."""

    tensor: CountOrAuto = "auto"
    """Tensor parallel size: GPUs that share each layer. Inside a node, as a rule."""
    pipeline: CountOrAuto = "auto"
    """Pipeline parallel size: groups of layers. Across nodes, as a rule."""
    data: Count = 1
    """Data parallel size."""
    expert: StrictBool = False
    """Whether the experts of a mixture-of-experts model are spread over the ranks."""


class Toleration(Section):
    """A Kubernetes toleration."""

    key: LabelKey | None = None
    """The taint's key; every taint without it."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """Whether the taint's value has to be equal, or only the key has to be there."""
    value: LabelValue | None = None
    """The taint's value, for Equal."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The taint's effect; every effect without it."""


class NodesSpec(Section):
    """The nodes that one replica's gang is placed on."""

    count: CountOrAuto = "auto"
    """Nodes of a replica."""
    accelerator: Annotated[Line, Field(examples=["H100-SXM-80GB", "cpu", "auto"])] = "auto"
    """The nodes' accelerator, for example H100-SXM-80GB; cpu for ranks without GPUs."""
    accelerators: Count = 1
    """Accelerators of a node, one rank each; for cpu, ranks of a node."""
    cpus: Cpus | None = None
    """CPUs of a node that the gang may use."""
    memory: Quantity | None = None
    """Memory of a node that the gang may use, for example 512Gi."""
    shared_memory: Quantity | None = None
    """Size of /dev/shm, for example 16Gi."""
    selector: Labels = {}
    """Labels that a node must have."""
    tolerations: tuple[Toleration, ...] = ()
    """Kubernetes tolerations."""

    @property
    def memory_bytes(self) -> int | None:
        """`memory` in bytes."""
        return None if self.memory is None else quantity_bytes(self.memory)

    @property
    def shared_memory_bytes(self) -> int | None:
        """`shared_memory` in bytes."""
        return None if self.shared_memory is None else quantity_bytes(self.shared_memory)


class Topology(Section):
    """Keep the gang within one domain of the network."""

    level: LabelKey
    """Node label whose value names the domain, for example topology.kubernetes.io/rack."""
    required: StrictBool = True
    """Whether the gang waits for such a domain (true) or only prefers it."""
    name: ObjectName | None = None
    """The cluster's Topology object that has this level, where the scheduler asks for it (KAI)."""


class SchedulerSpec(Section):
    """Who schedules the gang."""

    type: Literal["none", "volcano", "kueue", "yunikorn", "kai", "coscheduling", "native"] = "none"
    """The cluster's gang scheduler; native is Kubernetes' own (1.36 and later)."""
    queue: Queue | None = None
    """Queue that the gang is submitted to."""
    priority_class: ObjectName | None = None
    """Kubernetes PriorityClass of the gang's pods."""
    topology: Topology | None = None
    """Keep the gang within one domain of the network."""


class FabricSpec(Section):
    """The network between ranks."""

    type: Literal[
        "auto", "tcp", "infiniband", "sriov-roce", "sriov-infiniband", "efa", "gke-rdma", "aks-infiniband"
    ] = "auto"
    """The interconnect that the ranks must use."""
    resource: Resource | None = None
    """Extended resource that gives a pod the device, for example rdma/rdma_shared_device_ib."""
    resource_count: Count = 1
    """How many of that resource a pod needs."""
    interface: Interface | None = None
    """Interface for control traffic, for example eth0."""
    hcas: tuple[Hca, ...] = ()
    """Host channel adapters, for example mlx5_0."""
    networks: tuple[Network, ...] = ()
    """Additional pod networks (NetworkAttachmentDefinition), for example ray/roce-rail0."""
    host_network: StrictBool | None = None
    """Whether worker pods use the node's network; not by default."""
    min_bandwidth: Gigabits | None = None
    """Gbit/s that each pair of ranks on different nodes must reach, for example 180."""
    probe: StrictBool = True
    """Whether the network is checked in the gang's pods before the engine loads the model."""


class LimitsSpec(Section):
    """What is too long, and what is too much."""

    start_timeout: Seconds = 1800.0
    """How long a start may take, for example 30m."""
    admission_timeout: Seconds = 86400.0
    """How long a gang may wait for its turn on Kubernetes before its start counts."""
    request_timeout: Seconds = 600.0
    """How long a request may take."""
    max_concurrent_requests: Count = 256
    """Requests that one replica serves at once."""


class KubernetesSpec(Section):
    """Where and how it is deployed on Kubernetes."""

    namespace: Namespace | None = None
    """Namespace; that of the context by default."""
    version: Release | None = None
    """Kubernetes' version, for example 1.37; native gang scheduling has other field names in each."""
    kuberay_version: Release | None = None
    """KubeRay's version, for example 1.6.0; what it does not know yet is then left out."""
    image: Image | None = None
    """Container image with Ray and vLLM, of the versions that raygang is made for."""
    model_claim: ObjectName | None = None
    """PersistentVolumeClaim: has a directory's model (read-only), or keeps what is fetched for a hub id."""
    image_pull_secrets: tuple[ObjectName, ...] = ()
    """Names of Secrets for the image's registry."""
    service_account: ObjectName | None = None
    """Service account of the pods."""
    ray_version: Version | None = None
    """Ray's version in the image."""
    labels: Labels = {}
    """Labels of every object."""
    annotations: Annotations = {}
    """Annotations of every object."""
    monitoring: StrictBool = False
    """Whether Prometheus' operator and Grafana get a PodMonitor and a dashboard."""


class Spec(Section):
    """A model, the gang that serves it, and where it runs."""

    name: Name
    """Names everything that is made from this: lower-case letters, digits and -."""
    model: ModelSpec
    """Which model."""
    engine: EngineSpec = EngineSpec()
    """vLLM's own settings."""
    parallelism: ParallelismSpec = ParallelismSpec()
    """How one replica is spread over GPUs."""
    replicas: Count = 1
    """Replicas; each is a gang of its own."""
    nodes: NodesSpec = NodesSpec()
    """The nodes of one replica."""
    scheduler: SchedulerSpec = SchedulerSpec()
    """Who schedules the gang."""
    fabric: FabricSpec = FabricSpec()
    """The network between ranks."""
    limits: LimitsSpec = LimitsSpec()
    """Deadlines and limits."""
    kubernetes: KubernetesSpec = KubernetesSpec()
    """Where and how it is deployed on Kubernetes."""

    def __eq__(self, other: object) -> bool:
        """Whether they say the same, wherever they were read from."""
        return isinstance(other, Spec) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]  # holds mappings

    _document: Document | None = PrivateAttr(default=None)

    @property
    def source_path(self) -> Path | None:
        """The file that it was read from, None for standard input and text."""
        return self._document.path if self._document else None

    @property
    def base(self) -> Path:
        """The directory that relative paths start from."""
        return self.source_path.parent if self.source_path else Path.cwd()

    def position(self, field: str) -> tuple[int, int] | None:
        """Line and column (from 1) of a field or of the nearest one above it, None when it was not read from text."""
        return self._document.position(self._document.path_of(field)) if self._document else None

    def problem(
        self,
        field: str,
        message: str,
        *,
        given: str | None = None,
        allowed: str | None = None,
        suggestion: str | None = None,
    ) -> SpecError:
        """The error that blames a field, for checks that need more than the file."""
        document = self._document or Document.of_nothing()
        path = document.path_of(field)
        return SpecError((document.problem(path, message, given=given, allowed=allowed, suggestion=suggestion),))
