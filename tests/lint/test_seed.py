"""The guide's manifest, which the CRD accepts: every fault on its line, and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from raygang.gang import Context
from raygang.lint import Finding, Source, lint, sources
from raygang.lint.fix import fix
from raygang.objects import Version

CASES = Path(__file__).parent / "cases"
SEED = (CASES / "seed-manifest.yaml").read_text()
# what is wrong, as facts about KubeRay, Volcano, Ray and NCCL have it: line of the text -> code
FAULTS = [
    ("kind: RayCluster", "SRV001"),  # serves nothing
    ("    volcano.sh/queue-name: high-priority-queue", "GANG001"),  # nobody reads the annotation
    ("        schedulerName: volcano # Explicitly use Volcano scheduler", "GANG002"),  # no gang at all
    ("          image: rayproject/ray:2.9.0", "SRV017"),  # no vLLM in it
    ('              nvidia.com/gpu: "0" # Head node doesn\'t need GPU for serving', "RES001"),
    ("          - name: RAY_GRAFANA_HOST", "OBS001"),  # one of three that belong together
    ('      num-cpus: "0"', "RAY004"),  # no CPU in the whole cluster
    ("      resources: '{\"custom_resource\": 1}'", "RAY001"),  # ray start exits with 2
    ("          image: rayproject/ray:2.9.0-gpu", "SRV017"),
    ('              nvidia.com/gpu: "1"', "ENG017"),  # four pods with one GPU each; blamed on the limits above
    ("        dnsPolicy: Default", "DNS001"),  # the head is not found by its name
    ("          - name: NCCL_SOCKET_IFNAME", "ENG002"),  # no VLLM_HOST_IP; blamed on the worker's environment
    ("  rayVersion: '2.9.0'", "VER001"),
    ("          - name: RAY_DEDUP_LOGS", "OBS002"),  # read by drivers only
    ("        hostNetwork: true ", "HOST001"),  # port 8080 of the node
    ("        hostNetwork: true ", "HOST003"),  # one worker on each node, whatever its GPUs
    ("        - name: ray-worker", "NET015"),  # no IPC_LOCK
    ("          image: rayproject/ray:2.9.0-gpu", "NET017"),  # no libibverbs
    ('              intel.com/sriov_net: "1"', "NET009"),  # no CNI runs for hostNetwork
    ('              intel.com/sriov_net: "1"', "NET010"),  # and no annotation says which
    ('              intel.com/sriov_net: "1"', "NET032"),  # a name as for DPDK
    ("          - name: NCCL_SOCKET_IFNAME", "NET004"),  # no NCCL_NET; blamed on the worker's environment
    ("          - name: NCCL_SOCKET_IFNAME", "NET019"),  # no GLOO_SOCKET_IFNAME
    ('            value: "ib0" # InfiniBand interface', "NET001"),  # an IP interface
    ('            value: "ib0" # InfiniBand interface', "NET002"),  # and every one that begins so
]


def found(text: str, context: Context | None = None) -> list[Finding]:
    return list(lint([Source("seed.yaml", text)], context).findings)


@pytest.mark.parametrize(("line", "code"), FAULTS)
def test_each_fault_is_found_on_its_line(line: str, code: str) -> None:
    numbers = [number for number, text in enumerate(SEED.splitlines(), 1) if text.rstrip() == line.rstrip()]
    assert numbers, f"no line {line!r} in the manifest"
    places = {(finding.line, finding.end_line) for finding in found(SEED) if finding.code == code}
    assert any(first <= number <= max(first, last) for number in numbers for first, last in places), places


def test_the_gang_that_is_not_there_is_told_in_one_sentence() -> None:
    (gang,) = [finding for finding in found(SEED) if finding.code == "GANG002"]
    assert gang.severity == "error"
    assert gang.what == (
        "Volcano would schedule these 5 pods one by one: nothing tells KubeRay to use Volcano "
        "(operator flag --batch-scheduler=volcano), so Volcano makes a group with minMember 1"
    )


def test_what_the_cluster_runs_decides_about_the_gang() -> None:
    with_volcano = found(SEED, Context("volcano", Version(1, 6)))
    assert "GANG002" not in {finding.code for finding in with_volcano}
    assert "GANG001" in {finding.code for finding in with_volcano}, "the queue is still the wrong one"
    assert "GANG002" in {finding.code for finding in found(SEED, Context("none", Version(1, 6)))}


def test_fixing_leaves_only_what_needs_a_decision() -> None:
    (fixed,) = fix([Source("seed.yaml", SEED)], Context("volcano", Version(1, 6)))
    left = {finding.code for finding in found(fixed.new, Context("volcano", Version(1, 6)))}
    assert {"DNS001", "GANG001", "RES001", "RAY001", "RAY004"} & left == set()
    network = {
        "HOST001",
        "HOST003",
        "NET001",
        "NET002",
        "NET004",
        "NET009",
        "NET010",
        "NET015",
        "NET017",
        "NET019",
        "NET032",
    }
    assert left == {
        "SRV001", "VER001", "SRV017", "OBS001", "RES007", "RAY015", "ENG017", "ENG002", "OBS002", *network
    }  # fmt: skip


def test_no_other_fault_is_found() -> None:
    assert {finding.code for finding in found(SEED)} == {code for _, code in FAULTS} | {"RES007", "RAY015"}


def test_with_the_advice_it_lints_clean() -> None:
    mended = sources([str(CASES / "seed-mended.yaml")])
    assert lint(mended, Context("volcano", Version(1, 6), Version(1, 37))).findings == ()
