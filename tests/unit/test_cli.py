"""The command line as a whole: help with an example everywhere, at once, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import typer
import typer.main
import yaml
from typer.testing import CliRunner

from spillway.cli import crds, main
from spillway.cli.main import app

SPILLWAY = str(Path(sys.executable).with_name("spillway"))
HEAVY = [
    "pyspark", "kafka", "confluent_kafka", "kubernetes", "kopf", "pydantic", "yaml", "msgspec", "rich", "pyarrow",
    "spillway.model", "spillway.expressions", "spillway.local",
]  # fmt: skip
BY_TYPER = {"pydantic"}  # typer loads it by itself, for the options of a command
COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def loaded_by(*arguments: str) -> list[str]:
    """The heavy modules that a call of the command imports, each in a process of its own."""
    program = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print(*(m for m in {HEAVY} if m in sys.modules), file=sys.stderr))\n"
        f"sys.argv = ['spillway', *{list(arguments)}]\n"
        "from spillway.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stderr.split()


def help_of(*command: str) -> str:
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_commands_are_there() -> None:
    assert {"validate", "crds"} <= set(COMMANDS)


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=" ".join)
def test_every_help_has_an_example(command: tuple[str, ...]) -> None:
    text = help_of(*command)
    assert "Example:" in text
    example = text.partition("Example:")[2].split()
    assert example[0] == "spillway"
    assert example[1] == (command[0] if command else "validate")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_list_of_commands_says_what_each_does(command: str) -> None:
    (line,) = [line for line in help_of().splitlines() if line.split()[:1] == [command]]
    assert len(line.split()) > 3


@pytest.mark.parametrize("name", ["-h", "--help"])
def test_help_has_a_long_and_a_short_name(name: str) -> None:
    assert "Usage: spillway" in CliRunner().invoke(app, [name], prog_name="spillway").stdout


def test_help_loads_nothing_heavy() -> None:
    assert loaded_by("--help") == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_loads_nothing_heavy_of_ours(command: str) -> None:
    assert set(loaded_by(command, "--help")) - BY_TYPER == set()


def test_a_heavy_module_would_be_noticed() -> None:
    assert {"pydantic", "yaml", "spillway.model"} <= set(loaded_by("crds"))


def test_no_command_at_all_shows_the_help() -> None:
    result = CliRunner().invoke(app, [])
    assert "Commands:" in result.output


def test_an_unknown_command_is_a_wrong_call() -> None:
    result = CliRunner().invoke(app, ["validat"])
    assert result.exit_code == 2
    assert "No such command 'validat'" in result.stderr


def test_the_version_is_that_of_the_project() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout.split()[0]) == (0, "spillway")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_a_shell(shell: str) -> None:
    # The shell is asked for through the environment: `--show-completion` looks at its parent process.
    environment = {**os.environ, "_SPILLWAY_COMPLETE": f"source_{shell}"}
    done = subprocess.run([SPILLWAY], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "_SPILLWAY_COMPLETE=complete_" in done.stdout


def test_bash_is_offered_the_commands() -> None:
    environment = {**os.environ, "_SPILLWAY_COMPLETE": "complete_bash", "COMP_WORDS": "spillway va", "COMP_CWORD": "1"}
    done = subprocess.run([SPILLWAY], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["validate"]


# crds


def test_crds_prints_what_kubectl_can_apply() -> None:
    result = CliRunner().invoke(app, ["crds"])
    assert result.exit_code == 0
    assert list(yaml.safe_load_all(result.stdout)) == [yaml.safe_load(text) for text in crds.documents().values()]


def test_crds_writes_a_file_for_each(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    result = CliRunner().invoke(app, ["crds", "--output", str(folder)])
    assert (result.exit_code, result.stdout) == (0, "")
    assert {path.name: path.read_text() for path in folder.iterdir()} == crds.documents()


def test_crds_into_a_file_is_a_sentence_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = subprocess.run(
        [SPILLWAY, "crds", "--output", tmp_path / "file"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"spillway: {tmp_path / 'file'} can't be written: File exists\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_locale_without_our_letters_is_no_traceback(tmp_path: Path, encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([SPILLWAY, "crds"], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    folder = tmp_path / "crds"
    subprocess.run([SPILLWAY, "crds", "--output", folder], env=environment, capture_output=True, check=True)
    assert {path.name: path.read_bytes().decode() for path in folder.iterdir()} == crds.documents()


def test_as_a_plugin_of_kubectl_its_help_shows_how_it_was_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kubectl-spillway", "top", "--help"])
    with pytest.raises(SystemExit, match="0"):
        main.main()
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: kubectl spillway top [OPTIONS]")
    assert "Example:   kubectl spillway top --namespace" in shown
    monkeypatch.setattr(sys, "argv", ["/usr/bin/spillway", "top", "--help"])
    with pytest.raises(SystemExit, match="0"):
        main.main()
    assert "Example:   spillway top --namespace" in capsys.readouterr().out


def test_the_plugin_is_installed_under_the_name_by_which_kubectl_finds_it() -> None:
    scripts = metadata.entry_points(group="console_scripts")
    assert scripts["kubectl-spillway"].value == scripts["spillway"].value
