"""What a campaign keeps: its findings, each in a folder of its own, and how far it is.

A folder appears complete or not at all, and before anybody is told of the finding. So whatever ends a campaign, nothing that was
reported is lost.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from epctx.case import Case, Name, Struct
from epctx.case_file import dumps
from epctx.errors import HarnessError, UsageError
from epctx.fuzz.fingerprint import Sign
from epctx.observation import Observation

T = TypeVar("T", bound=Struct)

FORMAT = 1
"""Version of the format of a campaign's directory."""


SETTING, STATE, FINDINGS, INPUTS = "setting.json", "state.json", "findings", "inputs"
"""What is in the directory."""


class Setting(Struct, frozen=True):
    """What decides the cases of a campaign and how they are judged; the same for all of its runs."""

    target: str
    seed: int
    engine: str = "grammar"
    profile: str | None = None
    policies: tuple[str, ...] = ()
    dictionary: tuple[Name, ...] = ()
    """Names to try besides the usual ones."""
    epctx: str = ""
    format: int = FORMAT


class State(Struct, frozen=True):
    """How far a campaign is: the next batch, and what came of those before it."""

    batch: int = 0
    cases: int = 0
    failing: int = 0
    seconds: float = 0.0
    signs: tuple[tuple[Sign, int], ...] = ()
    """Each way in which cases failed, with how many did."""
    skipped: int = 0
    errors: int = 0
    """How many cases were not judged, as the harness itself failed."""
    cleared: int = 0
    """How many cases looked wrong to the engine and not to the oracle."""


class Found(Struct, frozen=True):
    """A finding: the rule, what happened in the smallest case that was found, and which case it came from."""

    fingerprint: str
    rule: str
    severity: str
    case: str
    """The id of the case that was shrunk, which says the seed and the number."""
    expected: str
    happened: str
    file: str
    target: str
    ort: str
    epctx: str
    again: str
    """The command that shows it again, to be given in the finding's folder."""
    confirmed: bool = True


class Store:
    """A campaign's directory: a new one for this ``setting``, or without it one to go on with. UsageError if it is no such."""

    def __init__(self, directory: Path, setting: Setting | None) -> None:
        self.directory, self._findings = directory, directory / FINDINGS
        try:
            if setting is None:
                if self._begun():
                    raise UsageError(f"The campaign in {directory} ended before it began; begin it again with --out {directory}.")
                self.setting = self._read(directory / SETTING, Setting)
                if self.setting.format != FORMAT:
                    raise UsageError(
                        f"{directory} is of format {self.setting.format}, and this epctx goes on with format {FORMAT}."
                    )
            else:
                directory.mkdir(parents=True, exist_ok=True)
                if any(directory.iterdir()) and not self._begun():
                    raise UsageError(f"{directory} is not empty; name a new directory, or go on with --resume {directory}.")
                self.setting = setting
                self._findings.mkdir(exist_ok=True)
                self.save(State())
                self._replace(SETTING, setting)  # last: with it the directory is one to go on with
            for left in self._findings.glob(".new-*"):  # of a run that was killed
                shutil.rmtree(left)
        except OSError as error:
            raise UsageError(f"{directory}: {error.strerror}; name a directory that can be written to.") from None

    @property
    def state(self) -> State:
        """How far the campaign was when that was last saved."""
        return self._read(self.directory / STATE, State)

    def _begun(self) -> bool:
        """Whether somebody began to make this directory, and was ended before it was complete."""
        names = {path.name for path in self.directory.iterdir()} if self.directory.is_dir() else set()
        return bool(names) and names <= {FINDINGS, STATE, f".{STATE}", f".{SETTING}"} and not any(self._findings.glob("*"))

    def save(self, state: State) -> None:
        """Keep how far the campaign is. HarnessError if that cannot be written."""
        with self._told():
            self._replace(STATE, state)

    def found(self) -> list[Found]:
        """All findings, by name."""
        return [self._read(path, Found) for path in sorted(self._findings.glob("*/finding.json"))]

    def folder(self, found: Found) -> Path:
        """Where a finding is kept."""
        return self._findings / f"{found.rule}-{found.fingerprint}"

    def keep(self, found: Found, case: Case, observation: Observation) -> Path:
        """Keep a finding; its folder. HarnessError, and nothing else is harmed, if it cannot be written."""
        folder = self.folder(found)
        with self._told():
            made = Path(tempfile.mkdtemp(prefix=".new-", dir=self._findings))
            try:
                made.chmod(0o755)
                _write(made / "case.json", dumps(case).encode() + b"\n")
                _write(made / "observation.json", _json(observation))
                _write(made / "finding.json", _json(found))
                if not folder.exists():
                    os.rename(made, folder)
                    _sync(self._findings)
            finally:
                shutil.rmtree(made, ignore_errors=True)
        return folder

    def inputs(self, before: int) -> dict[int, list[bytes]]:
        """What each batch up to the one of a number found for those after it; of later ones it is found again."""
        found: dict[int, list[bytes]] = {number: [] for number in range(before)}
        for path in sorted((self.directory / INPUTS).glob("*-*")):
            number = path.name.partition("-")[0]
            if number.isdecimal() and int(number) in found:
                found[int(number)].append(path.read_bytes())
        return found

    def keep_inputs(self, number: int, inputs: Sequence[bytes]) -> None:
        """Keep what the batch of that number found for those after it. HarnessError if that cannot be written."""
        directory = self.directory / INPUTS
        with self._told():
            if inputs:
                directory.mkdir(exist_ok=True)
            for index, data in enumerate(inputs):
                _write(directory / f"{number:06}-{index:04}", data)

    def _read(self, path: Path, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind)
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(f"{path}: {error}; {self.directory} is not the directory of a campaign.") from None

    def _replace(self, name: str, data: Struct) -> None:
        made = self.directory / f".{name}"
        _write(made, _json(data))
        os.replace(made, self.directory / name)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HarnessError(
                f"The campaign ended: {self.directory} cannot be written ({error.strerror}); what was reported is kept there. "
                f"Make room and go on with --resume {self.directory}."
            ) from None


def _json(data: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(data)) + b"\n"


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
