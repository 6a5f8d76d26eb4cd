"""Adapters that are programs in any language: they speak ``epctx_driver.messages`` in lines (``docs/reference/exec.md``)."""

from __future__ import annotations

import atexit
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

from epctx_driver import messages, pipes
from epctx_driver.adapter import Died, ReadCall, Refused, Skip, WriteCall
from epctx_driver.messages import LONGEST_LINE, PROTOCOL, Malformed, bytes_of, name_of
from epctx_driver.pipes import Pipes, Stopped, TooLong
from epctx_driver.serve import Fault, Unusable

START_SECONDS = 20.0
"""How long a program may take for its hello and its description together."""
BYE_SECONDS = 2.0
"""How long it may take for its bye, and then to end."""
ONE_CALL = "a program makes one call after the other"
"""Why nothing is asked of a program by several threads, nor by a callback."""

Answer = Callable[[messages.Callback], messages.Result]
"""Makes an application's callback, and gives what that gave. What the callback raises goes through."""


def open_adapter(command: Sequence[str], environment: Mapping[str, str]) -> SimpleNamespace:
    """An adapter with the operations that a program has, which is started, and ends with this process. Unusable if it does not
    come up."""
    program = Program(command, environment)
    atexit.register(_leave, program)
    said = program.description
    operations = {operation: getattr(program, operation) for operation in said.can}
    return SimpleNamespace(
        met=said.target, unsupported={**said.unsupported, "threads": ONE_CALL}, close=program.bye, **operations
    )


def _leave(program: Program) -> None:
    """End a program with this process, which does not end well where that does not."""
    if wrong := program.bye():
        print(wrong, file=sys.stderr, flush=True)
        os._exit(1)


class Program:
    """A program that is up, and its ``description``. Unusable if it does not come up.

    ``read`` and ``write`` are those of an adapter. They raise Died if the program ended, and Fault if it broke the protocol;
    after either it is gone, and started again for the next call.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._calling, self._called_again = False, False
        self._start()

    def read(self, call: ReadCall) -> bytes:
        """The content for a name."""
        callback = call.callback
        answer: Answer | None = callback and (lambda asked: messages.Result(asked.id, bytes(callback(_text(asked.name)))))
        payload = self._asked("read", call, answer).payload
        assert payload is not None
        return payload

    def write(self, call: WriteCall) -> None:
        """Write the content for a name."""
        callback = call.callback

        def answer(asked: messages.Callback) -> messages.Result:
            assert callback
            assert asked.payload is not None
            callback(_text(asked.name), asked.payload)
            return messages.Result(asked.id)

        fallback = None if call.fallback is None else _name(call.fallback)
        self._asked("write", call, answer if callback else None, payload=bytes(call.payload), fallback=fallback)

    def bye(self) -> str:
        """Have the program end; what was wrong with that, in words, or nothing. Harmless where it is gone."""
        if self._pipes.gone:
            return ""
        try:
            self._say(messages.Bye())
            self._heard("its bye", (messages.Bye,), time.monotonic() + BYE_SECONDS)
            code = self._pipes.wait(BYE_SECONDS)
        except (Died, Fault) as error:
            return str(error)
        finally:
            self._pipes.kill()
        if code is None:
            return f"the program said bye, and did not end within {BYE_SECONDS:g} s"
        return f"the program said bye, and then {pipes.ended(code)}" if code else ""

    # --- the conversation ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        try:
            self._pipes = Pipes(self._command, self._environment)
        except OSError as error:
            raise Unusable(f"the program {self._command[0]} cannot be started: {error.strerror}") from None
        self._calls, self._line = 0, b""
        try:
            self.description = self._introduced(time.monotonic() + START_SECONDS)
        except (Died, Fault) as error:
            raise Unusable(str(error)) from None
        except Unusable:
            self._pipes.kill()
            raise

    def _introduced(self, deadline: float) -> messages.Description:
        """What the program says of itself. Unusable if it says that it cannot work."""
        hello: messages.Hello = self._introduction(messages.Hello(PROTOCOL), "its hello", messages.Hello, deadline)
        if hello.protocol != PROTOCOL:
            raise Unusable(f"the program speaks version {hello.protocol} of the protocol, and this epctx version {PROTOCOL}")
        said: messages.Description = self._introduction(messages.Describe(), "its description", messages.Description, deadline)
        if not said.can:
            raise Unusable("the program says that it has neither read nor write")
        return said

    def _introduction(self, asked: Any, wanted: str, kind: type[Any], deadline: float) -> Any:
        self._say(asked)
        said = self._heard(wanted, (kind, messages.Error), deadline)
        if isinstance(said, messages.Error):
            raise Unusable(f"the program says that it cannot work: {said.text}")
        return said

    def _asked(self, op: Any, call: ReadCall | WriteCall, answer: Answer | None, **more: Any) -> messages.Result:
        """What came of a call. Raises Refused or Skip for what the program says."""
        if self._calling:
            self._called_again = True
            raise Skip(ONE_CALL)
        if self._pipes.gone:
            try:
                self._start()
            except Unusable as error:
                raise Fault(str(error)) from None
        if unasked := self._pipes.pending():
            self._line, self._pipes.line = unasked, self._pipes.line + 1
            self._broken("nothing, as it was asked nothing", "")
        self._pipes.limit_files(resource.getrlimit(resource.RLIMIT_FSIZE))
        self._calls += 1
        model = None if call.model is None else _name(call.model)
        cwd = name_of(os.getcwdb())
        made = messages.Call(self._calls, op, _name(call.name), model, call.trusted, cwd, answer is not None, **more)
        self._calling, self._called_again = True, False
        try:
            self._say(made)
            ending = self._ending(made, answer)
        finally:
            self._calling = False
        if self._called_again:
            raise Skip(f"{ONE_CALL}, and so none within a callback")
        if isinstance(ending, messages.Skip):
            raise Skip(_sound(ending.reason))
        if isinstance(ending, messages.Error):
            raise Refusal(_sound(ending.text), ending.code)
        return ending

    def _ending(self, call: messages.Call, answer: Answer | None) -> messages.Result | messages.Error | messages.Skip:
        """The answer to a call, once the application's callbacks were made for which it asks before."""
        kinds = (messages.Result, messages.Error, messages.Skip, *([messages.Callback] if answer else []))
        names = [messages.TAGS[kind] for kind in kinds]
        wanted = f"{', '.join(names[:-1])} or {names[-1]} of call {call.id}"
        while True:
            said = self._heard(wanted, kinds)
            if said.id != call.id:
                self._broken(wanted, f"it is of call {said.id}" if said.id is not None else "it has no id")
            if isinstance(said, messages.Error) and said.code is not None and not 0 < said.code < 1 << 31:
                self._broken(wanted, f"{said.code} is not the code of an error")
            if isinstance(said, messages.Error | messages.Skip):
                return said
            # a content goes from the one who has it: the program that reads, or the one that hands it on
            brings = call.op == ("read" if isinstance(said, messages.Result) else "write")
            if brings != (said.payload is not None):
                of = f"{messages.TAGS[type(said)]} of a {call.op}"
                self._broken(wanted, f"the {of} has {'no' if brings else 'a'} payload")
            if isinstance(said, messages.Result):
                return said
            assert answer
            try:
                self._say(answer(said))
            except Malformed as error:
                self._broken(wanted, str(error))
            except Refused as error:
                self._say(messages.Error(str(error), call.id, error.code))

    def _say(self, message: Any) -> None:
        self._pipes.send(messages.line_of(message))

    def _heard(self, wanted: str, kinds: tuple[type[Any], ...], deadline: float | None = None) -> Any:
        """The program's next message, of one of the kinds that are wanted. Died or Fault if there is none."""
        try:
            line = self._pipes.receive(deadline)
        except Stopped as error:
            self._give_up(Died(f"the program {error} where {wanted} was expected"))
        except TooLong:
            self._line = self._pipes.begun()
            self._broken(wanted, f"it has more than {LONGEST_LINE >> 20} MiB")
        if line is None:
            self._give_up(Fault(f"the program took too long: expected {wanted}; came {_came(self._pipes.begun())}"))
        self._line = line
        try:
            said = messages.message_in(line)
        except Malformed as error:
            self._broken(wanted, str(error))
        if not isinstance(said, kinds):
            self._broken(wanted, "that is not its turn")
        return said

    def _broken(self, wanted: str, why: str) -> NoReturn:
        """Give up a program whose last line is not what was ``wanted``."""
        told = f"expected {wanted}; came {_came(self._line)}" + (f" ({why})" if why else "")
        self._give_up(Fault(f"the program broke the protocol in line {self._pipes.line} of its standard output: {told}"))

    def _give_up(self, error: Exception) -> NoReturn:
        """End the program, and raise the error with the last that it printed."""
        self._pipes.kill()
        printed = self._pipes.printed()
        raise type(error)(f"{error}; it printed: {printed}" if printed else str(error)) from None


class Refusal(Exception):
    """What a program refused, with its code if it has one."""

    def __init__(self, text: str, code: int | None) -> None:
        super().__init__(text)
        self.code = code


def _came(line: bytes) -> str:
    return messages.shown(line) if line else "nothing"


def _name(text: str) -> messages.Name:
    return name_of(os.fsencode(text))


def _text(name: messages.Name) -> str:
    return os.fsdecode(bytes_of(name))


def _sound(text: str) -> str:
    """A text without halves of surrogate pairs, apart from those that stand for bytes that are not UTF-8."""
    return re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text)
