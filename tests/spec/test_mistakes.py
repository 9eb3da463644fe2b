"""Each mistake says where it is, what is wrong, and what to write."""

import pytest

from raygang.spec import SpecError, parse_spec

GOOD = "name: x\nmodel: {source: 'demo:smollm2'}\n"


def problems(text: str) -> list[str]:
    with pytest.raises(SpecError) as e:
        parse_spec(text, file="f.yaml")
    return [str(p).splitlines()[0] for p in e.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD + "engien: {}\n", "f.yaml:3:1: engien: unknown field; did you mean engine?"),
        (GOOD + "engine:\n  arg: {}\n", "f.yaml:4:3: engine.arg: unknown field; did you mean args?"),
        (GOOD + "pipeline: 2\n", "f.yaml:3:1: pipeline: unknown field; did you mean parallelism.pipeline?"),
        (GOOD + "replicas: '2'\n", "f.yaml:3:1: replicas: must be a whole number, not '2'"),
        (GOOD + "replicas: true\n", "f.yaml:3:1: replicas: must be a whole number, not true"),
        (GOOD + "replicas: 0\n", "f.yaml:3:1: replicas: must be at least 1, not 0"),
        (GOOD + "replicas: 2.0\n", "f.yaml:3:1: replicas: must be a whole number, not 2.0"),
        (GOOD + f"replicas: {'9' * 400}\n", f"f.yaml:3:1: replicas: must be at most 100000, not {'9' * 57}..."),
        (GOOD + "parallelism: {expert: 1}\n", "f.yaml:3:15: parallelism.expert: must be true or false, not 1"),
        (GOOD + "nodes: {cpus: true}\n", "f.yaml:3:9: nodes.cpus: must be a number, not true"),
        (GOOD + "fabric: {type: infinband}\n", "f.yaml:3:10: fabric.type: is none of the allowed values, not 'infinband'; did you mean infiniband?"),
        (GOOD + "fabric: {min_bandwidth: 0}\n", "f.yaml:3:10: fabric.min_bandwidth: must be above 0, not 0"),
        (GOOD + "fabric: {min_bandwidth: 200G}\n", "f.yaml:3:10: fabric.min_bandwidth: must be a number, not '200G'"),
        (GOOD + "fabric: {probe: 'yes'}\n", "f.yaml:3:10: fabric.probe: must be true or false, not 'yes'"),
        (GOOD + "nodes: {cpus: 0}\n", "f.yaml:3:9: nodes.cpus: must be above 0, not 0"),
        (GOOD + "nodes: {cpus: 1.0e+300}\n", "f.yaml:3:9: nodes.cpus: must be at most 100000, not 1e+300"),
        (GOOD + "nodes: {tolerations: x}\n", "f.yaml:3:9: nodes.tolerations: must be a list, not 'x'"),
        (GOOD + "nodes: {selector: [a]}\n", "f.yaml:3:9: nodes.selector: must be a mapping of names to values, not a list"),
        (GOOD + "nodes: [1]\n", "f.yaml:3:1: nodes: must be a mapping of fields, not a list"),
        (GOOD + "nodes:\n", "f.yaml:3:1: nodes: must be a mapping of fields, not nothing"),
        (GOOD + "name2: {a: b}\nengine: {env: {A: {b: c}}}\n", "f.yaml:4:16: engine.env.A: must be text, not a mapping"),
        (GOOD + "nodes: 3\n", "f.yaml:3:1: nodes: must be a mapping of fields, not 3"),
        (GOOD + "nodes: {count: many}\n", "f.yaml:3:9: nodes.count: must be a whole number from 1 to 100000, or auto, not 'many'"),
        (GOOD + "nodes: {memory: 16Q}\n", "f.yaml:3:9: nodes.memory: must be a quantity such as \"16Gi\" or \"500M\", not '16Q'"),
        (GOOD + "nodes: {memory: 16}\n", "f.yaml:3:9: nodes.memory: must be a quantity such as \"16Gi\" or \"500M\", from 1Mi to 1Ei, not 16"),
        (GOOD + f"nodes: {{memory: {'9' * 18}Ei}}\n", f"f.yaml:3:9: nodes.memory: must be a quantity such as \"16Gi\" or \"500M\", from 1Mi to 1Ei, not '{'9' * 18}Ei'"),
        (GOOD + "nodes: {memory: true}\n", "f.yaml:3:9: nodes.memory: must be a quantity such as \"16Gi\" or \"500M\", from 1Mi to 1Ei, not true"),
        (GOOD + "limits: {start_timeout: true}\n", "f.yaml:3:10: limits.start_timeout: must be a duration such as \"90s\", \"30m\" or \"1h30m\", not true"),
        (GOOD + "limits: {start_timeout: soon}\n", "f.yaml:3:10: limits.start_timeout: must be a duration such as \"90s\", \"30m\" or \"1h30m\", not 'soon'"),
        (GOOD + "limits: {start_timeout: 0}\n", "f.yaml:3:10: limits.start_timeout: must be a duration above zero and below three years, not 0"),
        (GOOD + "scheduler: {type: vulcano}\n", "f.yaml:3:13: scheduler.type: is none of the allowed values, not 'vulcano'; did you mean volcano?"),
        ("name: My_Model\nmodel: {source: 'demo:smollm2'}\n", "f.yaml:1:1: name: must be lower-case letters, digits and -, and no - at either end, and a letter first, not 'My_Model'"),
        (f"name: {'a' * 41}\nmodel: {{source: 'demo:smollm2'}}\n", "f.yaml:1:1: name: must be at most 40 characters (this has 41), not 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"),
        ("name: x\nmodel: {source: llama}\n", "f.yaml:2:9: model.source: must be demo:smollm2, a directory (./model or /models/x), a .gguf file, or a Hugging Face id (org/name), not 'llama'"),
        ("name: x\nmodel: {source: 'demo:smolm2'}\n", "f.yaml:2:9: model.source: must be a demo model: demo:smollm2, not 'demo:smolm2'"),
        ("name: x\nmodel: {source: 3}\n", "f.yaml:2:9: model.source: must be demo:smollm2, a directory (./model or /models/x), a .gguf file, or a Hugging Face id (org/name), not 3"),
        ("name: x\nmodel: {source: './a\\0b'}\n".replace("'", '"'), "f.yaml:2:9: model.source: must be demo:smollm2, a directory (./model or /models/x), a .gguf file, or a Hugging Face id (org/name), not './a\\x00b'"),
        ("name: x\n", "f.yaml:1:1: model: this field is required"),
    ],
)  # fmt: skip
def test_a_mistake(text: str, expected: str) -> None:
    assert expected in problems(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("engine: {args: {tensor_parallel_size: 2}}", "engine.args.tensor_parallel_size: follows from another field; write parallelism.tensor"),
        ("engine: {args: {distributed_executor_backend: mp}}", "raygang always uses vLLM's Ray executor"),
        ("engine: {args: {max-model-len: 2}}", "written with _ here; did you mean max_model_len?"),
        ("engine: {args: {port: 80}}", "Ray Serve listens for requests, not vLLM's own server"),
        ("scheduler: {topology: {level: rack}}", "scheduler.topology: topology needs a gang scheduler"),
        ("scheduler: {queue: q, type: none}", "f.yaml:3:23: scheduler.type: queue needs a gang scheduler"),
        ("fabric: {type: tcp, hcas: [mlx5_0]}", "tcp uses no HCA"),
        ("fabric: {type: tcp, resource: rdma/ib}", "tcp needs no device"),
        ("nodes: {tolerations: [{key: a, operator: Exists, value: b}]}", "nodes.tolerations.0.value: a value is compared by Equal only"),
        ("nodes: {tolerations: [{value: b}]}", "nodes.tolerations.0: Equal needs a key"),
        ("scheduler: {queue: q}", "queue needs a gang scheduler, and scheduler.type is none"),
        ("fabric: {type: efa, hcas: [mlx5_0]}", "EFA is no InfiniBand"),
        ("fabric: {type: sriov-roce, host_network: true}", "sriov-roce gives the pod an interface of its own"),
        ("fabric: {type: gke-rdma, host_network: true}", "gke-rdma gives the pod an interface of its own"),
        ("fabric: {host_network: true}", "fabric.interface: is needed with host_network"),
        ("fabric: {networks: [a/b]}", "fabric.networks: auto needs no additional network"),
        ("fabric: {type: tcp, networks: [a/b]}", "fabric.networks: tcp needs no additional network"),
        ("fabric: {type: efa, networks: [a/b]}", "fabric.networks: efa needs no additional network"),
        ("fabric: {type: infiniband, networks: [a/b]}", "fabric.networks: infiniband needs no additional network"),
        ("fabric: {type: aks-infiniband, networks: [a/b]}", "fabric.networks: aks-infiniband needs no additional network"),
        ("fabric: {resource: rdma/ib}", "fabric.resource: auto takes what it finds; name the fabric in fabric.type"),
        ("fabric: {hcas: [mlx5_0]}", "fabric.hcas: auto takes what it finds; name the fabric in fabric.type"),
        ("fabric: {type: gke-rdma, hcas: [mlx5_0]}", "fabric.hcas: Google's plugin chooses the HCAs itself"),
        ("fabric: {type: gke-rdma, resource: rdma/ib}", "fabric.resource: GKE gives the pod its NICs by annotation"),
        ("fabric: {type: tcp, resource_count: 2}", "fabric.resource_count: tcp needs no device"),
        ("fabric: {type: infiniband, hcas: [mlx5_1, mlx5_1]}", "f.yaml:3:43: fabric.hcas.1: mlx5_1 stands there twice"),
        ("fabric: {type: infiniband, hcas: [mlx5_1, 'mlx5_1:1']}", "fabric.hcas.1: mlx5_1:1 and mlx5_1 name the same port"),
        ("fabric: {type: infiniband, hcas: ['mlx5_1:1', mlx5_10, mlx5_1]}", "fabric.hcas.2: mlx5_1 and mlx5_1:1 name the same port"),
        ("parallelism: {tensor: 2, pipeline: 2}\nnodes: {count: 3}", "tensor 2 x pipeline 2 x data 1 = 4 ranks, and 3 nodes with 1 accelerators each hold 3"),
        ("parallelism: {tensor: 1, pipeline: 2}\nnodes: {count: 3}", "3 nodes for 2 ranks: some would hold none"),
    ],
)  # fmt: skip
def test_a_contradiction(text: str, expected: str) -> None:
    assert any(expected in p for p in problems(GOOD + text + "\n"))


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("model.served_name", "''"),
        ("model.revision", "' main'"),
        ("model.served_name", '"a\\nb"'),
        ("nodes.selector", "{'a b': c}"),
        ("nodes.selector", "{a: 'b c'}"),
        ("scheduler.priority_class", "High Priority"),
        ("fabric.resource", "no_domain"),
        ("fabric.interface", "a-name-that-is-too-long"),
        ("fabric.hcas", "['']"),
        ("fabric.networks", "[a/b/c]"),
        ("kubernetes.namespace", "Team"),
        ("kubernetes.image", "'ray 2.60'"),
        ("kubernetes.image_pull_secrets", "[A_b]"),
        ("kubernetes.service_account", "-x"),
        ("kubernetes.ray_version", "'2.60'"),
        ("kubernetes.ray_version", "2.60"),
        ("kubernetes.labels", "{a: true}"),
        ("kubernetes.annotations", "{/x: y}"),
        ("engine.env", "{'A B': c}"),
        ("engine.env", '{A: "\\0"}'),
    ],
)
def test_a_name_has_the_form_that_its_reader_wants(field: str, wrong: str) -> None:
    section, name = field.split(".")
    text = "name: x\nmodel:\n  source: a/b\n" if section == "model" else f"{GOOD}{section}:\n"
    found = problems(f"{text}  {name}: {wrong}\n")
    assert len(found) == 1
    assert found[0].startswith("f.yaml:4:") and f" {field}" in found[0] and "must be" in found[0]


def test_what_contradicts_is_found_beside_other_mistakes_where_it_stands_on_whole_sections() -> None:
    text = "name: A\nmodel: {source: a/b}\nreplicas: x\nnodes: {count: 9}\nparallelism: {tensor: 1, pipeline: 2}\n"
    assert [p.split(":")[3].strip() for p in problems(text)] == ["name", "replicas", "nodes.count"]
    text = text.replace("count: 9", "count: 9, cpus: x")
    assert [p.split(":")[3].strip() for p in problems(text)] == ["name", "replicas", "nodes.cpus"], (
        "the shape is not known"
    )


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    lines = [int(p.split(":")[1]) for p in problems("name: A\nmodel: {sourc: a/b}\nreplicas: x\nnodes: {cuont: 1}\n")]
    assert lines == sorted(lines)
    assert len(lines) == 5


def test_a_line_is_shown_with_a_caret_below_the_field() -> None:
    with pytest.raises(SpecError) as e:
        parse_spec(GOOD + "nodes: {cuont: 1}\n", file="f.yaml")
    assert str(e.value).splitlines()[1:3] == ["    nodes: {cuont: 1}", "            ^"]


def test_hcas_of_which_one_begins_like_another_are_different_ones() -> None:
    text = GOOD + "fabric: {type: infiniband, hcas: [mlx5_1, mlx5_10, 'mlx5_2:1', 'mlx5_2:2']}\n"
    assert parse_spec(text, file="f.yaml").fabric.hcas == ("mlx5_1", "mlx5_10", "mlx5_2:1", "mlx5_2:2")
