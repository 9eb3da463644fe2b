"""SRV: whether Ray can read serveConfigV2 at all, and takes what it says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.serve_fields import (
    ACTOR,
    APPLICATION,
    AUTOSCALING,
    CONFIG,
    DEPLOYMENT,
    HTTP,
    PROXY_LOCATIONS,
    RENAMED,
    URI_SCHEMES,
)
from raygang.lint.rules.serve_words import nearest, older, ray_of, service
from raygang.lint.serve import CONFIG as PATH
from raygang.lint.serve import Application, serve
from raygang.objects import Path, Version, at, mapping, sequence, text

Place = tuple[Mapping[str, Any], Path]
_HELD = "no application starts, KubeRay tries again for ever, and the RayService never becomes ready"
_RENAMED_IN = Version(2, 44)


def _unreadable(case: Case) -> Report:
    found = serve(case)
    if found.trouble is not None:
        line = found.trouble.place.line
        yield Found((*PATH, line), f"serveConfigV2 is no YAML: {found.trouble.what} (its line {line})")
    elif found.text and found.value is not None and not isinstance(found.value, Mapping):
        yield Found(PATH, "serveConfigV2 is YAML, but no mapping", "write a mapping with applications")
    if found.documents > 1:
        what = f"serveConfigV2 has {found.documents} YAML documents, and KubeRay reads the first one only"
        yield Found(PATH, what, "remove the --- and merge them", severity="warning")
    for twice in found.duplicates:
        what = f"the key {twice.key} is there twice in serveConfigV2 (its line {twice.place.line}): the last one wins"
        yield Found(PATH, what, "merge the two")


def _missing(case: Case) -> Report:
    if case.workload.kind != "RayService":
        return
    found, spec = serve(case), mapping(case.workload.manifest.data.get("spec"))
    if found.text is None or not found.text.strip():
        if "serveConfigV2" in spec and found.text is None:
            return  # of another type: the schema says so
        old = "serveConfig" in spec
        what = "the RayService has " + ("serveConfig, which KubeRay no longer reads," if old else "no serveConfigV2")
        yield Found(("spec", "serveConfig") if old else ("spec",), what, "write serveConfigV2", key=True)
    elif found.trouble is None and isinstance(found.value, Mapping | None) and not found.config.get("applications"):
        what = "serveConfigV2 has no applications"
        old = "import_path" in found.config or "importPath" in found.config
        write = "wrap what is there in a list: applications: [...]" if old else "add an application"
        yield Found(PATH, what, write)


def _import_path(case: Case) -> Report:
    for application in serve(case).applications:
        if "import_path" not in application.data:
            name = next((key for key in application.data if nearest(key, ("import_path",)) is not None), None)
            what = f"the application {application.name} has no import_path"
            what += f", but {name}" if name else ""
            yield Found(application.at(name) if name else application.path, what, key=bool(name))
            continue
        path = application.import_path
        why = _malformed(path) if path is not None else "is no text"
        if why:
            yield Found(application.at("import_path"), f"import_path {application.data['import_path']!r} {why}")


def _malformed(path: str) -> str:
    """Ray 2.60 ray/serve/schema.py:925-957."""
    if path.endswith(".py") or "/" in path:
        return "is a file, not a module"
    if path.count(":") > 1:
        return "has more than one colon"
    sign = ":" if ":" in path else "."
    if sign not in path:
        return "names a module without the application in it"
    if path.startswith(sign) or path.endswith(sign):
        return f"starts or ends with {sign!r}"
    return "has a space in it" if path.split() != [path] else ""


_TYPES: dict[str, type] = {"name": str, "deployments": list, "args": dict, "runtime_env": dict, "route_prefix": str}
_CALLED: dict[type, str] = {str: "a text", list: "a list", dict: "a mapping"}


def _called(value: Any) -> str:
    """A value by its kind: it may have secrets in it."""
    if isinstance(value, bool) or value is None:
        return "nothing" if value is None else "true or false"
    return _CALLED.get(type(value), "a number")


def _types(case: Case) -> Report:
    found = serve(case)
    top: dict[str, type] = {"applications": list, "http_options": dict, "grpc_options": dict}
    for name, kind in top.items():
        value = found.config.get(name)
        if value is not None and not isinstance(value, kind):
            yield Found((*PATH, name), f"{name} is {_called(value)}, not {_CALLED[kind]}", f"write {_CALLED[kind]}")
    location = found.config.get("proxy_location")
    if location is not None and location not in (*PROXY_LOCATIONS, "NoServer"):
        write = f"write {', '.join(PROXY_LOCATIONS[:-1])} or {PROXY_LOCATIONS[-1]}"
        yield Found((*PATH, "proxy_location"), f"proxy_location is {location!r}", write)
    for index, item in enumerate(sequence(found.config.get("applications"))):
        if not isinstance(item, Mapping):
            yield Found((*PATH, "applications", index), f"application {index + 1} is {_called(item)}, not a mapping")
    for application in found.applications:
        yield from _application_types(application)


def _application_types(application: Application) -> Report:
    for name, kind in _TYPES.items():
        value = application.data.get(name)
        if value is not None and not isinstance(value, kind):
            what = f"{name} is {_called(value)}, not {_CALLED[kind]}"
            yield Found(application.at(name), what, f"write {_CALLED[kind]}")
    prefix = text(application.data.get("route_prefix"))
    if prefix is not None and (not prefix.startswith("/") or (prefix != "/" and prefix.endswith("/")) or "{" in prefix):
        what = f"route_prefix is {prefix!r}: it has to start with / and may not end with it"
        yield Found(application.at("route_prefix"), what, f"write {'/' + prefix.strip('/')}")
    for name in ("host", "port"):
        if name in application.data:
            what = f"the application {application.name} has a {name} of its own"
            yield Found(application.at(name), what, f"move it to http_options.{name}", key=True)
    for index, item in enumerate(sequence(application.data.get("deployments"))):
        if not isinstance(at(item, "name"), str):
            yield Found(application.at("deployments", index), f"deployment {index + 1} has no name", "add its name")


def _unknown(case: Case) -> Report:
    found = serve(case)
    yield from _strange(case, found.config, PATH, CONFIG)
    yield from _strange(case, mapping(found.config.get("http_options")), (*PATH, "http_options"), HTTP)
    for application in found.applications:
        yield from _strange(case, application.data, application.path, APPLICATION, ("import_path",))
        for index, item in enumerate(sequence(application.data.get("deployments"))):
            path = application.at("deployments", index)
            yield from _strange(case, mapping(item), path, DEPLOYMENT)
            yield from _strange(
                case, mapping(at(item, "autoscaling_config")), (*path, "autoscaling_config"), AUTOSCALING
            )
            yield from _strange(case, mapping(at(item, "ray_actor_options")), (*path, "ray_actor_options"), ACTOR)


def _strange(
    case: Case, data: Mapping[str, Any], path: Path, known: Collection[str], elsewhere: Collection[str] = ()
) -> Iterator[Found]:
    """Fields that Ray leaves out without a word. A name that no version of Ray has is one that is nearly another."""
    if path == PATH and "applications" not in data:
        return  # not a config of several applications: SRV004 says so
    for name in data:
        if name in known and name not in RENAMED:
            continue
        meant = RENAMED.get(name) or nearest(name, known)
        if meant is None and older(case):
            continue
        if name in RENAMED and (ray_of(case) or _RENAMED_IN).release < _RENAMED_IN.release:
            continue
        if nearest(name, elsewhere) is not None and not any(other in data for other in elsewhere):
            continue  # SRV005 says it
        what = f"{name} is no field that Ray knows here"
        yield Found(
            (*path, name), what, f"write {meant}" if meant else "remove it, or move it to where it belongs", key=True
        )


def _twice(case: Case) -> Report:
    names: set[str] = set()
    routes: set[str] = set()
    for application in serve(case).applications:
        if application.name in names:
            path = application.at("name") if "name" in application.data else application.path
            yield Found(path, f"two applications are called {application.name}", "give each a name of its own")
        names.add(application.name)
        route = application.data.get("route_prefix", "/")
        if isinstance(route, str):
            if route in routes:
                path = application.at("route_prefix") if "route_prefix" in application.data else application.path
                what = f"two applications have the route_prefix {route}"
                what += "" if "route_prefix" in application.data else ", which is what it is where none is written"
                yield Found(path, what, "give each a route_prefix of its own")
            routes.add(route)


def _places(application: Application) -> Iterator[Place]:
    yield mapping(application.data.get("runtime_env")), application.at("runtime_env")
    for index, item in enumerate(sequence(application.data.get("deployments"))):
        path = application.at("deployments", index, "ray_actor_options", "runtime_env")
        yield mapping(at(item, "ray_actor_options", "runtime_env")), path


def _local_code(case: Case) -> Report:
    for application in serve(case).applications:
        for data, path in _places(application):
            named = [(data.get("working_dir"), (*path, "working_dir"))]
            named += [(item, (*path, "py_modules", i)) for i, item in enumerate(sequence(data.get("py_modules")))]
            for value, where in named:
                if isinstance(value, str) and value.partition("://")[0].lower() not in URI_SCHEMES:
                    scheme, sign, _ = value.partition("://")  # what stands behind may be a password
                    path_ = f"{value} is a path, not the address of an archive"
                    yield Found(where, f"Ray fetches nothing from {scheme}://" if sign else path_)


_SCHEMA = "Ray 2.60 ray/serve/schema.py"
_APP = "applications:\n- name: llm\n  import_path: app:llm\n"

RULES = (
    Rule(
        code="SRV003", name="serve-config-unreadable", severity="error",
        title="serveConfigV2 is no YAML", because=_HELD,
        why="serveConfigV2 is a text to Kubernetes: nothing looks into it before KubeRay sends it to Ray. A tab, a "
        "wrong "
        "indentation or a missing quote shows only in the operator's log.",
        write="mend the syntax at this place",
        since="KubeRay 1.0-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/rayservice_controller.go:1292-1318",
        bad=service("applications:\n- name: llm\n  import_path: [app:llm\n"), good=service(_APP),
        check=_unreadable,
    ),
    Rule(
        code="SRV004", name="serve-config-missing", severity="error", title="a RayService without an application",
        because=_HELD,
        why="A RayService is ready when at least one application runs. Ray refuses a configuration without "
        "applications, "
        "and the form for a single application, with import_path at the top, went with Ray 2.7's serveConfig.",
        write="add serveConfigV2 with applications",
        since="KubeRay 1.0-1.7",
        source=f"{_SCHEMA}:1149; KubeRay 1.6 ray-operator/controllers/ray/rayservice_controller.go:1600-1603",
        bad="kind: RayService\nspec:\n  serveConfigV2: null\n", good=service(_APP),
        check=_missing,
    ),
    Rule(
        code="SRV005", name="import-path", severity="error", title="import_path is missing or malformed", because=_HELD,
        why="import_path says where the application is: module:attribute, as Python would import it, not a file.",
        write="write module:attribute, for example ray.serve.llm:build_openai_app",
        since="Ray 2.x", source=f"{_SCHEMA}:925-957",
        bad=service("applications:\n- name: llm\n  import_path: serve.py\n"), good=service(_APP),
        check=_import_path,
    ),
    Rule(
        code="SRV006", name="serve-config-refused", severity="error", title="a value in serveConfigV2 that Ray refuses",
        because=_HELD,
        why="Ray checks the types of the fields, the form of route_prefix, and that host and port are at the top only.",
        write="write a value of the field's type",
        since="Ray 2.x", source=f"{_SCHEMA}:800-995,1107-1212; ray/serve/config.py ProxyLocation",
        bad=service(_APP + "proxy_location: Everywhere\n"), good=service(_APP + "proxy_location: EveryNode\n"),
        check=_types,
    ),
    Rule(
        code="SRV007", name="serve-field-ignored", severity="warning",
        title="a field in serveConfigV2 that Ray ignores",
        because="Ray leaves it out without a word, and what it was to set keeps its default",
        why="Ray accepts unknown fields, so that an older Ray can read the configuration of a newer one. A misspelled "
        "name is therefore never reported.",
        write="write the field's name as Ray has it",
        since="Ray 2.x", source=f"{_SCHEMA}:371-560,1033-1152",
        bad=service(_APP + "  deployments:\n  - name: Model\n    num_replica: 2\n"),
        good=service(_APP + "  deployments:\n  - name: Model\n    num_replicas: 2\n"),
        check=_unknown,
    ),
    Rule(
        code="SRV008", name="application-twice", severity="error", title="two applications with one name or one route",
        because=_HELD,
        why="Names and routes of applications are unique in a cluster. Without route_prefix an application has /, and "
        "without a name it is called default.",
        write="give each application a name and a route_prefix of its own",
        since="Ray 2.x", source=f"{_SCHEMA}:1154-1183",
        bad=service(_APP + "- name: other\n  import_path: app:other\n"),
        good=service(_APP + "- name: other\n  import_path: app:other\n  route_prefix: /other\n"),
        check=_twice,
    ),
    Rule(
        code="SRV009", name="code-on-disk", severity="error", title="working_dir or py_modules is a path",
        because=_HELD,
        why="`serve run` packs a local directory and uploads it. Nobody does that for serveConfigV2: each node fetches "
        "the archive itself, so it needs an address that starts with https://, s3://, gs:// and so on. Code that is in "
        "the image needs no working_dir; put it on PYTHONPATH.",
        write="write the address of a .zip, or leave it out where the image has the code",
        since="Ray 2.x; local:// 2.60", source=f"{_SCHEMA}:901-923; ray/_private/runtime_env/protocol.py:20-45",
        bad=service(_APP + "  runtime_env: {working_dir: ./app}\n"),
        good=service(_APP + "  runtime_env: {working_dir: 'https://example.com/app.zip'}\n"),
        check=_local_code,
    ),
)  # fmt: skip
