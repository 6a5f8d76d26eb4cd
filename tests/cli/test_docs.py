"""The documentation shows what really happens: every command in it is run here, or is named below with the reason why not."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cli.conftest import FAKES, Epctx
from tests.cli.pages import PAGES, ROOT, Shown, blocks, commands

from epctx.attack import families
from epctx.case import Case
from epctx.cli import main, options
from epctx.run import baseline_file
from epctx.target import build, kinds, parse, weaknesses

DOCS = ROOT / "docs"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

ONLY_READ = {
    "epctx *exec:node *": "needs node, and an adapter; tests/run/test_programs.py runs that of examples/exec-node",
    "epctx published*": "installs releases; the environment `published` of tox runs it",
    "epctx bench*": "takes minutes, and says how fast this machine is",
    "epctx *--engine *": "needs clang or atheris, whose tests are in tests/fuzz",
    "epctx fuzz 'header:*": "takes long; docs/fuzzing.md has the same with a library",
    "epctx *--cluster *": "needs a cluster, whose tests are in tests/fuzz",
    "epctx *--sanitize *": "builds the driver anew, as tests/cli/test_sanitize.py does",
    "epctx check *&include=*": "builds the header anew, as tests/test_build.py does",
    "epctx check *ep:qnn*": "needs a wheel; the environment `real-loaders` of tox has it",
    "epctx check *ep:openvino*": "needs a wheel; the environment `real-loaders` of tox has it",
    "epctx check *ep:lib=*": "needs a provider; that of examples/plugin-ep is tested by the environment `examples` of tox",
    "epctx check *ep:my_ep.toml*": "needs a provider; tests/target/test_provider.py reads the description",
    "epctx check loader:ort*": "takes half a minute; the environment `published` of tox runs loaders",
    "epctx check *loader:onnx?python=*": "needs a release in an environment of its own; the environment `published` has some",
}
"""Commands of which the options and the target's name are read, and that are not run, each with the reason."""

SET_UP = (
    "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/epctx check",
    "python3 -m venv .venv && .venv/bin/pip install tox && .venv/bin/tox",
)
"""The two commands of the README that make an environment: whoever runs this test has used one of them."""

SLOW = ("docs/encrypted-models.md", "docs/fuzzing.md", "docs/start/provider.md")
"""Pages whose commands take minutes."""

INSTEAD = [
    ("--for 30m", "--cases 200 --seed 1"),  # nobody waits that long
    ("--for 8h", "--cases 250"),
    (
        "lib:build/libmy_target.so",
        "lib:build/libmy_target.so?set=weak=short-write-unchecked",
    ),  # so that there is something to find
]
"""What is run in place of what a page shows, and why."""

SAMPLE = 3
"""Cases of each family that a check runs here, for time."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_numbers_are_right() -> None:
    assert sum(len(family.cases()) for family in families().values()) > 2000
    assert len(weaknesses()) > 150


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    generated = ("projects/", "reference/rules/", "reference/attacks/", "reference/targets.md", "reference/profiles.md")
    for link in re.findall(r"\]\(([^):]*)\)", page.read_text(encoding="utf-8")):
        path = (page.parent / link.partition("#")[0]).resolve()
        made = path.is_relative_to(DOCS) and str(path.relative_to(DOCS)).startswith(generated)
        assert path.exists() or made, link


# --- commands ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def workshop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of a vendor, in which the commands of a page are run: a helper, a library, headers of ONNX Runtime."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)  # a target that runs as nobody has to find its modules
        furnish(Path(directory))
        monkeypatch.chdir(directory)
        yield Path(directory)


def furnish(place: Path) -> None:
    for folder in ("src", "build", "third_party/onnxruntime"):
        (place / folder).mkdir(parents=True)
    (place / "third_party/onnxruntime/include").symlink_to(build.NATIVE / "ort")
    helper = (FAKES / "headers" / "full.h").read_text(encoding="utf-8")
    helper = helper.replace("../../../harness/epctx/native", str(build.NATIVE))
    renamed = (helper.replace("vendor::io", name) for name in ("my_ep", build.HEADER_NAMESPACE))
    (place / "src/ep_context_data.h").write_text("\n".join(renamed), encoding="utf-8")
    (place / "docs").symlink_to(DOCS)
    (place / "my_loader.py").write_text(blocks(DOCS / "adapters.md", "python")[0], encoding="utf-8")


@pytest.fixture(scope="module")
def every_case() -> list[Case]:
    return options.listed_cases()


@pytest.fixture
def few_cases(every_case: list[Case], monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Lets commands run on some cases of each family in place of all, or on all again."""
    seen: Counter[str] = Counter()
    few = []
    for case in every_case:
        family = case.id.partition("/")[0]
        seen[family] += 1
        if seen[family] <= SAMPLE or case.intent == "control" or case.id.startswith("sizes/file-size-limit"):
            few.append(case)

    def set_to(sampled: bool) -> None:
        monkeypatch.setattr(options, "listed_cases", lambda: list(few if sampled else every_case))

    return set_to


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, id=n, marks=[pytest.mark.slow] * (n in SLOW)) for p in PAGES if commands(p) for n in [named(p)]],
)
def test_commands_do_what_the_page_says(page: Path, workshop: Path, epctx: Epctx, few_cases: Callable[[bool], None]) -> None:
    for code in blocks(page, "python"):
        if "class Loader" in code:
            (workshop / "my_loader.py").write_text(code, encoding="utf-8")
    for command in commands(page):
        if command.line in SET_UP and page.name == "README.md":
            continue
        emulated = "platform" in command.line and "python:" in command.line
        if any(fnmatch.fnmatch(command.line, pattern) for pattern in ONLY_READ) or (emulated and not find_spec("pyfakefs")):
            read_only(command.words)
        elif command.words[0] == "epctx":
            few_cases(command.output is None and not any(word.startswith("--only") for word in command.words))
            run_epctx(epctx, command)
        elif command.words[0] == "pip":
            packages_are_there(command.words)
        else:
            run_other(command)


def run_epctx(epctx: Epctx, command: Shown) -> None:
    line = command.line
    for shown, run in INSTEAD:
        line = line.replace(shown, run)
    words, _, file = line.partition(" > ")
    if "build/libmy_target.so" in line and not Path("build/libmy_target.so").exists():
        shutil.copy(build.build(build.BUNDLED), "build/libmy_target.so")
    result = epctx(*Shown(words).words[1:])
    assert result.exit_code == command.code, f"{command.line}\n{result.output}"
    if "--write-baseline" in words:  # the reader's part
        written = Path(Shown(words).words[-1])
        written.write_text(written.read_text("utf-8").replace('reason = ""', 'reason = "known"'), encoding="utf-8")
    if file:
        Path(Shown(file).words[0]).write_text(result.output, encoding="utf-8")
    if command.output:
        assert alike(result.output, "\n".join(command.output) + "\n"), f"{command.line}\n{result.output}"


def run_other(command: Shown) -> None:
    name, *rest = command.words
    assert name in ("python", "pytest"), f"{command.line}: nobody knows how to check this"
    words = [sys.executable, *(rest if name == "python" else ["-m", "pytest", *rest])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == command.code, done.stdout + done.stderr
    if command.output:
        assert alike(done.stdout, "\n".join(command.output) + "\n"), done.stdout


def read_only(words: list[str]) -> None:
    """Hold the options and the target of a command against those that there are."""
    command: click.Command = main
    context, rest = click.Context(main, info_name="epctx"), words[1:]
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None, words
        command, context = found, click.Context(found, info_name=name, parent=context)
    values: dict[str, Any] = command.make_context(context.info_name, list(rest)).params
    if target := values.get("target"):
        assert parse(target).kind in kinds(), words


def packages_are_there(words: list[str]) -> None:
    extras = PYPROJECT["project"]["optional-dependencies"]
    for package in (word for word in words[2:] if not word.startswith("-")):
        name, _, extra = package.partition("[")
        assert name in ("epctx", "."), words
        assert not extra or extra.rstrip("]") in extras, words


def alike(seen: str, shown: str) -> bool:
    """Whether an output is as it is shown, apart from what differs from one machine or run to the next."""
    pattern = re.escape(settled(shown)).replace("…\\\n", "(?:.*\n)*")
    return re.fullmatch(pattern, settled(seen)) is not None


def settled(output: str) -> str:
    output = re.sub(r"^(namespaces|landlock|WARNING).*$", "BOX", output, flags=re.MULTILINE | re.IGNORECASE)
    output = re.sub(r"profile (spec|ort-1\.\d+)", "PROFILE", output)
    output = re.sub(r"^ONNX Runtime .*$", "ONNX Runtime", output, flags=re.MULTILINE)
    output = re.sub(r"\.epctx-[0-9a-f]+\.tmp", "TEMPORARY", output)
    return re.sub(r"; \d+\.\d s$", "; SECONDS", output, flags=re.MULTILINE)


def test_the_readme_says_how_to_set_up() -> None:
    lines = [command.line for command in commands(ROOT / "README.md")]
    assert (lines[0], lines[-1]) == SET_UP


def test_what_is_not_run_is_shown_somewhere() -> None:
    lines = [command.line for page in PAGES for command in commands(page)]
    assert [p for p in ONLY_READ if not fnmatch.filter(lines, p)] == []
    assert [shown for shown, _ in INSTEAD if not any(shown in line for line in lines)] == []


def test_the_library_that_is_shown_is_usable(tmp_path: Path, epctx: Epctx) -> None:
    source = tmp_path / "my_target.cc"
    source.write_text(blocks(DOCS / "adapters.md", "cpp")[0], encoding="utf-8")
    library = build.build(build.Part("shown", (source,), (source,), (f"-I{build.NATIVE}", f"-I{build.NATIVE / 'ort'}")))
    result = epctx("smoke", f"lib:{library}")
    assert result.exit_code == 0, result.output
    assert "the target has no write" in result.output


# --- files ------------------------------------------------------------------------------------------------------------------


def test_the_baseline_that_is_shown_can_be_used(tmp_path: Path) -> None:
    (text,) = blocks(DOCS / "baselines.md", "toml")
    (tmp_path / "known.toml").write_text(text, encoding="utf-8")
    cases = [case for family in families().values() for case in family.cases()]
    (file,) = baseline_file.read([tmp_path / "known.toml"], cases)
    file.check_use("lib:build/libmy_target.so", "ort-1.31")
    (entry,) = file.entries
    keys = [line.split("`")[1] for line in (DOCS / "baselines.md").read_text("utf-8").splitlines() if line.startswith("| `")]
    assert keys == [*baseline_file.WHAT_IT_IS_FOR, *baseline_file.FIELDS]
    assert entry.reason


def test_every_format_is_listed() -> None:
    page = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8")
    assert [schema.name for schema in (DOCS / "schema").iterdir() if f"(../schema/{schema.name})" not in page] == []
