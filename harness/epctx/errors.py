"""What can go wrong outside the thing under test. Each error is one sentence for the user; the command line adds no traceback."""

INTERRUPTED = 128 + 2
"""Exit code after Ctrl-C, as shells have it for a program that SIGINT ended."""


class EpctxError(Exception):
    """Base of all errors that epctx raises on purpose. ``exit_code`` is what the command line ends with."""

    exit_code = 3


class UsageError(EpctxError):
    """Bad input: a case file, an option or a target specification that cannot be right. Raised before anything is created."""

    exit_code = 2


class CaseError(UsageError):
    """A case that is not valid: malformed, of another version, or with a layout that names something outside its world."""


class TargetError(EpctxError):
    """The target cannot be used: it does not build, load, or pass the controls."""


class BuildError(TargetError):
    """A C++ target did not compile; the message holds the compiler's words and the command line."""


class HarnessError(EpctxError):
    """The harness itself cannot work here, for example because no box or no room for worlds can be had."""


class NothingRan(EpctxError):
    """No case was left to run, so that nothing can be said about the target."""

    exit_code = 4


class AttackError(EpctxError):
    """An attack that is written wrongly: an id twice, a function without text, an intent that the specification contradicts."""
