"""A file that is to be written at the end of something long: whether that can be is known before it begins."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from epctx.errors import UsageError


class AwaitedFile:
    """A file that is opened before anything runs; UsageError if it cannot be written. A context manager.

    What was in it is gone then, and if nothing is written so is the file: what an earlier run left there must not pass for what
    this one came to. ``replaced`` is whether there was such a file.
    """

    def __init__(self, path: Path, asked: str, *, keeps: str = "") -> None:
        """``asked`` is what it was asked for by, in words. A file that is there is not touched if that ``keeps`` something."""
        self.path, self.replaced = path, False
        self._asked, self._keeps = asked, keeps
        self._file: IO[bytes] | None = None
        self._written = False

    def __enter__(self) -> Self:
        try:
            self.replaced = self.path.exists()
            self._file = self.path.open("xb" if self._keeps else "wb")
        except FileExistsError:
            raise UsageError(f"{self._asked}: there is such a file, and {self._keeps} would be lost; name a new one.") from None
        except (OSError, ValueError) as error:
            raise self._failed(error) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is None:
            return
        with suppress(OSError):
            regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
            self._file.close()
            if regular and not self._written:
                self.path.unlink()

    def write_text(self, text: str) -> None:
        """Write the whole file. UsageError."""
        assert self._file is not None
        try:
            self._file.write(text.encode("utf-8", "backslashreplace"))
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from None
        self._written = True

    def _failed(self, error: OSError | ValueError) -> UsageError:
        why = error.strerror if isinstance(error, OSError) else error
        return UsageError(f"{self._asked}: {why}; name a file that can be written.")
