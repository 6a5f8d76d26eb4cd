"""Reports of sanitizers: found in what a runtime writes, and shortened to the target's own frames."""

from __future__ import annotations

from epctx.observation import Report
from epctx.target.sanitizer import KEPT, reports

LIBRARY = "/cache/bundled-1.so"


def frames(*lines: str) -> str:
    return "".join(f"    #{n}\t{line}\n" for n, line in enumerate(lines))


OWN = ("/proc/self/fd/5\tns::Read(int, char const*)\t/src/target.cc\t7", f"{LIBRARY}\tepctx_read\t/src/shim.cc\t20")
RUNTIME = "/usr/lib/libtsan.so.2\tmemcpy\t<null>\t0"
OTHERS = ("/cache/driver-1\tepctx::Call(int)\t/src/calls.cc\t3", "/lib/libc.so.6\t<null>\t<null>\t0")
RACE = f"""==================
WARNING: ThreadSanitizer: data race (pid=12)
  Write of size 8 at 0x7b0c by thread T2 (mutexes: write M1):
{frames(RUNTIME, *OWN, *OTHERS)}
  Previous read of size 8 at 0x7b0c by thread T1:
{frames(OWN[1], *OTHERS)}
  Location is global 'ns::(anonymous namespace)::Read(int)::{{lambda(int)#1}}::operator()(int) const::count' of size 8 at 0x7

  Thread T1 (tid=14, running) created by main thread at:
{frames(*OTHERS)}
SUMMARY: ThreadSanitizer: data race /src/target.cc:7 in ns::Read
==================
"""
LOCKS = f"""WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=12)
  Cycle in lock order graph: M1 (0x0) => M2 (0x1) => M1

  Mutex M2 acquired here while holding mutex M1 in thread T1:
{frames(*OWN)}
SUMMARY: ThreadSanitizer: lock-order-inversion (potential deadlock) /src/target.cc:7 in ns::Read
"""
ADDRESS = f"""=================================================================
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000055 at pc 0x5 bp 0x7 sp 0x7
READ of size 1 at 0x602000000055 thread T0
{frames(*OWN, *OTHERS)}
0x602000000055 is located 0 bytes to the right of 5-byte region
SUMMARY: AddressSanitizer: heap-buffer-overflow /src/target.cc:7 in ns::Read
"""
UNDEFINED = f"""/src/target.cc:7:12: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'
{frames(*OWN)}
"""
STACK = ("Read target.cc:7", "epctx_read shim.cc:20")


def test_a_data_race_has_two_stacks_and_its_place() -> None:
    assert reports(RACE, LIBRARY) == (Report("thread", "data race", "data race on the global count", STACK, STACK[1:]),)


def test_locks_in_two_orders() -> None:
    kind = "lock-order-inversion (potential deadlock)"
    assert reports(LOCKS, LIBRARY) == (Report("thread", kind, kind, STACK),)


def test_an_address() -> None:
    assert reports(ADDRESS, LIBRARY) == (Report("address", "heap-buffer-overflow", "heap-buffer-overflow", STACK),)


def test_undefined_behaviour() -> None:
    words = "signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'"
    assert reports(UNDEFINED, LIBRARY) == (Report("undefined", "undefined behaviour", words, STACK),)


def test_frames_of_others_where_there_are_no_own() -> None:
    (report,) = reports(ADDRESS.replace("/proc/self/fd/5", "/lib/other.so").replace(LIBRARY, "/lib/other.so"), LIBRARY)
    assert report.stack == (*STACK, "Call calls.cc:3")


def test_each_report_is_given_once_and_not_too_many_are() -> None:
    assert [r.kind for r in reports(RACE + ADDRESS + RACE, LIBRARY)] == ["data race", "heap-buffer-overflow"]
    many = "".join(RACE.replace("target.cc\t7", f"target.cc\t{n}") for n in range(3 * KEPT))
    assert len(reports(many, LIBRARY)) == KEPT


def test_what_is_no_report() -> None:
    assert reports("", LIBRARY) == ()
    assert reports("a target prints what it likes: runtime error: none\n", LIBRARY) == ()
