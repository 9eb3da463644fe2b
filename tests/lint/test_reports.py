"""Reports: what each form says, and that nothing in a manifest can break out of it."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from typing import Any

import pytest
import yaml

from raygang.lint import RULES, Edit, Finding, Outcome, Source, lint, page
from raygang.lint.report import github_report, json_report, sarif_report, text_report

MANIFEST = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: llama
spec:
  rayVersion: 2.60.0
  workerGroupSpecs:
  - groupName: gpus
    rayStartParams:
      resources: '{"a": 1}'
"""
RULE = RULES["RAY001"]
FINDING = Finding(
    file="a.yaml", line=10, column=18, code=RULE.code, name=RULE.name, severity="error", object="RayCluster/llama",
    path="spec.workerGroupSpecs[0].rayStartParams.resources", what="the shell takes it apart", because="it ends",
    write="write quotes", page=page(RULE), end_line=10,
)  # fmt: skip
NEEDS = "SCHEMA001 (a field that KubeRay does not have): not checked, needs KubeRay's version (--kuberay)"


def outcome(*findings: Finding, unchecked: tuple[str, ...] = ()) -> Outcome:
    return Outcome(findings, unchecked, files=1, documents=2, workloads=1, ignored=3)


def text(found: Outcome, *sources: Source) -> list[str]:
    return [line.plain for line in text_report(found, sources)]


def run_of(found: Outcome) -> dict[str, Any]:
    log = json.loads(sarif_report(found, "1.2.3"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return run


# --- for people


def test_a_finding_has_its_place_its_line_its_reason_and_what_to_write() -> None:
    assert text(outcome(FINDING), Source("a.yaml", MANIFEST))[:5] == [
        "a.yaml:10:18 RAY001 error the shell takes it apart",
        "  10 | resources: '{\"a\": 1}'",
        "     |            ^",
        "  because: it ends",
        "  write: write quotes",
    ]


def test_the_summary_counts_what_was_read_and_found_and_ignored() -> None:
    found = outcome(FINDING, replace(FINDING, line=11), replace(FINDING, line=12, severity="info"))
    assert "1 file, 2 objects, 1 Ray workload: 2 errors, 0 warnings, 1 info, 3 ignored" in text(found)


def test_what_was_not_checked_is_told_at_the_end() -> None:
    assert text(outcome(unchecked=(NEEDS,)))[-1] == (
        "not checked: SCHEMA001 (a field that KubeRay does not have): needs KubeRay's version (--kuberay)"
    )


def test_the_rule_command_is_told_once_with_the_worst_finding() -> None:
    found = outcome(replace(FINDING, code="VER001", severity="info"), FINDING)
    assert [line for line in text(found) if "raygang rule" in line] == [
        "`raygang rule CODE` tells more, for example: raygang rule RAY001"
    ]
    assert not any("raygang rule" in line for line in text(outcome()))


def test_a_block_is_named_by_its_path_since_its_first_line_is_another_fields() -> None:
    block = replace(FINDING, line=8, end_line=10, path="spec.workerGroupSpecs")
    lines = text(outcome(block), Source("a.yaml", MANIFEST))
    assert lines[1] == "  at: RayCluster/llama spec.workerGroupSpecs"
    item = replace(block, path="spec.workerGroupSpecs[0]", column=5)
    assert text(outcome(item), Source("a.yaml", MANIFEST))[1] == "  8 | - groupName: gpus"


def test_two_findings_at_one_place_show_its_line_once() -> None:
    found = outcome(FINDING, replace(FINDING, what="something else"))
    assert sum("10 |" in line for line in text(found, Source("a.yaml", MANIFEST))) == 1


@pytest.mark.parametrize("line", [0, 99])
def test_a_place_that_the_text_does_not_have_shows_no_line(line: int) -> None:
    lines = text(outcome(replace(FINDING, line=line, end_line=line)), Source("a.yaml", MANIFEST))
    assert lines[1] == "  because: it ends"


def test_of_a_long_line_the_blamed_part_is_shown() -> None:
    line = "a: {" + "x: 1, " * 100 + "here: 2, " + "y: 1, " * 100 + "}"
    finding = replace(FINDING, line=1, end_line=1, column=line.index("here") + 1)
    _, shown, caret, *_ = text(outcome(finding), Source("a.yaml", line))
    assert shown[caret.index("^") :].startswith("here: 2")
    assert len(shown) < 120


def test_the_caret_stands_below_the_column_behind_wide_characters() -> None:
    finding = replace(FINDING, line=1, end_line=1, column=9)
    _, shown, caret, *_ = text(outcome(finding), Source("a.yaml", "{日本: 1, b: 2}"))
    assert caret.index("^") == shown.index("b: 2") + 2  # two characters of two cells


@pytest.mark.parametrize(
    "line",
    [
        "value: hf_abcdefghijklmnop",
        "{name: HF_TOKEN, value: paste-it-here}",
        "redis-password: hunter2",
        "uri: redis://user:hunter2@redis:6379",
        "- {name: A, value: ghp_abcdefghijklmnop}",
    ],
)
def test_a_line_that_may_hold_a_secret_is_not_shown(line: str) -> None:
    lines = text(outcome(replace(FINDING, line=1, end_line=1)), Source("a.yaml", line))
    assert lines[1] == "  because: it ends"


@pytest.mark.parametrize("order", [("name: HF_TOKEN", "value: paste-it-here"), ("value: p-i-h", "name: HF_TOKEN")])
def test_a_value_below_or_above_a_secrets_name_is_not_shown(order: tuple[str, str]) -> None:
    source = Source("a.yaml", f"- {order[0]}\n  {order[1]}\n")
    for line in (1, 2):
        shown = "\n".join(text(outcome(replace(FINDING, line=line, end_line=line)), source))
        assert not re.search("paste-it-here|p-i-h", shown)


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["- name: PLAIN", "  value: hunter2"], False),
        (["- value: hunter2", "  name: PLAIN"], False),
        (["- {name: PLAIN, value: hunter2}"], False),
        (['[{"name": "RAY_A", "value": "1"}, {"name": "PLAIN", "value": "hunter2"}]'], False),
        (["- # why", "  value: hunter2"], False),
        (["- name: NCCL_DEBUG", "  value: INFO", "- name: PLAIN"], True),
        (["- {name: VLLM_HOST_IP, value: 10.0.0.1}"], True),
    ],
)
def test_of_variables_only_those_of_the_engine_are_shown_with_their_values(lines: list[str], shown: bool) -> None:
    number = next(i for i, line in enumerate(lines, start=1) if "value" in line)
    finding = replace(FINDING, line=number, end_line=number, path="spec.containers[0].env[0].value", column=1)
    assert any("value" in line for line in text(outcome(finding), Source("a.yaml", "\n".join(lines)))) == shown


def test_the_data_of_a_secret_is_not_shown() -> None:
    source = Source(
        "a.yaml", "kind: X\na: hunter1\n---\nkind: Secret\ndata:\n  a: hunter2\n  a: hunter2\n--- # next\na: 1\n"
    )
    lines = [text(outcome(replace(FINDING, object="", path="", line=n, end_line=n)), source)[1] for n in (2, 6, 7, 9)]
    assert [line.strip() for line in lines] == ["2 | a: hunter1", "because: it ends", "because: it ends", "9 | a: 1"]


FULL_OF_SECRETS = """\
apiVersion: ray.io/v1
kind: RayService
metadata: {name: hunter}
spec:
  serveConfigV2: |
    applications:
    - name: llm
      import_path: ray.serve.llm:build_openai_app
      runtime_env: PLAIN=hunter2
      args: [hunter2]
      deployments: [{name: A, ray_actor_options: {runtime_env: {working_dir: 'git+https://u:hunter2@host'}}}]
    - other
  rayClusterConfig:
    gcsFaultToleranceOptions: {redisAddress: r, redisPassword: {value: 4711}}
    headGroupSpec:
      rayStartParams: {redis-password: 4711}
      template:
        spec:
          containers:
          - name: ray-head
            args: export PLAIN=hunter2
            env:
            - name: PLAIN
              value: 4711
            - {name: PLAIN, value: hunter2}
            - {name: PLAIN, value: hunter2-too}
            - PLAIN=hunter2
            - name: VLLM_HOST_IP
              value: hunter2
            - name: RAY_ADDRESS
              value: hunter2
            - {name: NVIDIA_VISIBLE_DEVICES, value: all}
    workerGroupSpecs:
    - groupName: w
      replicas: 2
      template:
        spec:
          containers:
          - name: ray-worker
            command: [export PLAIN=hunter2]
            env: PLAIN=hunter2
---
apiVersion: v1
kind: Secret
metadata: {name: a}
stringData:
  plain: hunter2
  plain: hunter2
"""


@pytest.mark.parametrize("json_form", [False, True])
def test_no_form_of_report_repeats_what_variables_commands_and_secrets_hold(json_form: bool) -> None:
    written = FULL_OF_SECRETS
    if json_form:
        written = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(yaml.safe_load_all(written))})
    source = Source("a.yaml", written)
    found = lint([source])
    assert {"SCHEMA005", "SCHEMA002", "POD001", "POD003", "POD004", "RAY012", "SRV006", "SRV009"} <= {
        finding.code for finding in found.findings
    }
    forms = [json_report(found), sarif_report(found, "1"), github_report(found), "\n".join(text(found, source))]
    for form in forms:
        assert not re.search("hunter2|4711", form)


def test_nothing_is_shown_of_a_line_on_which_a_rule_found_a_secret() -> None:
    secret = replace(FINDING, code="SEC002", name="secret-in-env")
    assert not any("10 |" in line for line in text(outcome(FINDING, secret), Source("a.yaml", MANIFEST)))


def test_a_terminal_is_given_no_control_characters_of_a_manifest() -> None:
    finding = replace(FINDING, file="a\x1b[2J.yaml", what="the name \x1b[31m\r\nred\u202e", line=1, end_line=1)
    shown = text(outcome(finding), Source("a\x1b[2J.yaml", "a: \x1b[31m"))
    assert all(line.isprintable() for line in shown)
    assert shown[0].startswith(r"a\x1b[2J.yaml:1:18 RAY001 error the name \x1b[31m\r\nred\u202e")


# --- for programs


def test_json_has_every_field_of_a_finding_and_whether_it_can_be_mended() -> None:
    mended = replace(FINDING, fix=(Edit("delete", ("spec",)),))
    report = json.loads(json_report(outcome(FINDING, mended, unchecked=(NEEDS,))))
    assert set(report) == {"version", "summary", "findings", "unchecked"}
    assert report["version"] == 1
    first, second = report["findings"]
    assert set(first) == ({field.name for field in fields(Finding)} - {"fix"}) | {"fixable"}
    assert (first["fixable"], second["fixable"]) == (False, True)
    assert all(first[name] == getattr(FINDING, name) for name in set(first) - {"fixable"})
    assert report["unchecked"] == [NEEDS]


def test_json_counts() -> None:
    assert json.loads(json_report(outcome(FINDING)))["summary"] == {
        "files": 1, "objects": 2, "workloads": 1, "errors": 1, "warnings": 0, "infos": 0, "ignored": 3,
    }  # fmt: skip


# --- SARIF


def test_sarif_has_a_page_for_each_rule_that_found_something() -> None:
    run = run_of(outcome(FINDING, replace(FINDING, line=11), unchecked=(NEEDS,)))
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("raygang", "1.2.3")
    assert {rule["id"] for rule in driver["rules"]} == {"RAY001", "SCHEMA001"}
    for rule in driver["rules"]:
        known = RULES[rule["id"]]
        assert rule["name"] == known.name
        assert rule["shortDescription"]["text"] == known.title
        assert known.because in rule["fullDescription"]["text"]
        assert rule["help"]["markdown"].startswith(f"# {known.code}: ")
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}


def test_a_result_leads_to_its_rule_and_to_its_place() -> None:
    run = run_of(outcome(replace(FINDING, severity="info", end_line=12)))
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "RAY001"
    assert result["level"] == "note"
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 10, "startColumn": 18},
        "contextRegion": {"startLine": 10, "endLine": 12},
    }
    assert location["logicalLocations"] == [
        {"fullyQualifiedName": "RayCluster/llama spec.workerGroupSpecs[0].rayStartParams.resources"}
    ]
    assert result["message"]["text"] == "the shell takes it apart: it ends. Write: write quotes"
    assert "%SRCROOT%" in run["originalUriBaseIds"]


@pytest.mark.parametrize(
    ("file", "location"),
    [
        ("dir/a b.yaml", {"uri": "dir/a%20b.yaml", "uriBaseId": "%SRCROOT%"}),
        ("ns:a#1?%.yaml", {"uri": "ns%3Aa%231%3F%25.yaml", "uriBaseId": "%SRCROOT%"}),
        ("ü\udcff.yaml", {"uri": "%C3%BC%FF.yaml", "uriBaseId": "%SRCROOT%"}),
        ("/abs/a.yaml", {"uri": "file:///abs/a.yaml"}),
        ("<stdin>", {"uri": "%3Cstdin%3E", "uriBaseId": "%SRCROOT%"}),
    ],
)
def test_a_file_is_a_uri_relative_to_the_root_unless_it_is_absolute(file: str, location: dict[str, str]) -> None:
    (result,) = run_of(outcome(replace(FINDING, file=file)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == location


def test_what_was_not_checked_is_a_notification_of_the_run() -> None:
    run = run_of(outcome(unchecked=(NEEDS,)))
    (invocation,) = run["invocations"]
    (note,) = invocation["toolExecutionNotifications"]
    assert note["associatedRule"] == {"id": "SCHEMA001", "index": 0}
    assert "--kuberay" in note["message"]["text"]
    assert (note["level"], invocation["executionSuccessful"], run["results"]) == ("note", True, [])


def test_a_file_that_could_not_be_read_makes_the_run_unsuccessful() -> None:
    run = run_of(outcome(replace(FINDING, code="TEXT001", name="unreadable", object="", path="")))
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "logicalLocations" not in run["results"][0]["locations"][0]


def test_sarif_of_every_rule_has_a_level_and_help() -> None:
    found = outcome(*(replace(FINDING, code=r.code, name=r.name, severity=r.severity) for r in RULES.values()))
    run = run_of(found)
    assert [run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] for r in run["results"]] == list(RULES)


# --- GitHub


def test_a_finding_is_a_workflow_command() -> None:
    first, last = github_report(outcome(FINDING)).splitlines()
    assert first == (
        "::error file=a.yaml,line=10,col=18,endLine=10,title=RAY001 resources-unquoted::"
        "the shell takes it apart%0Abecause: it ends%0Awrite: write quotes"
    )
    assert last == "1 file, 2 objects, 1 Ray workload: 1 error, 0 warnings, 0 infos, 3 ignored"


@pytest.mark.parametrize(("severity", "command"), [("error", "error"), ("warning", "warning"), ("info", "notice")])
def test_severities_are_githubs(severity: Any, command: str) -> None:
    assert github_report(outcome(replace(FINDING, severity=severity))).startswith(f"::{command} ")


def test_a_manifest_can_break_out_of_no_command() -> None:
    finding = replace(FINDING, file="a:b,c%\r\n::error::x.yaml", what="100%\n::add-mask::x", because="a, b: c")
    (line, _) = github_report(outcome(finding)).splitlines()
    assert "file=a%3Ab%2Cc%25%0D%0A%3A%3Aerror%3A%3Ax.yaml,line=" in line
    assert line.endswith(r"::100%25\n::add-mask::x%0Abecause: a, b: c%0Awrite: write quotes")


def test_what_was_not_checked_is_one_notice() -> None:
    lines = github_report(outcome(unchecked=(NEEDS, NEEDS.replace("SCHEMA001", "SCHEMA002")))).splitlines()
    assert [line.startswith("::notice title=raygang lint::not checked: SCHEMA001 ") for line in lines] == [True, False]
    assert "%0Anot checked: SCHEMA002" in lines[0]


# --- all of them


def test_every_form_reports_the_same_findings() -> None:
    source = Source("a.yaml", MANIFEST)
    found = lint([source])
    codes = [finding.code for finding in found.findings]
    assert "RAY001" in codes
    assert [f["code"] for f in json.loads(json_report(found))["findings"]] == codes
    assert [r["ruleId"] for r in run_of(found)["results"]] == codes
    assert re.findall(r"title=([A-Z]+\d+)", github_report(found)) == codes
    assert re.findall(r"(?m)^a\.yaml:\d+:\d+ (\S+)", "\n".join(text(found, source))) == codes
