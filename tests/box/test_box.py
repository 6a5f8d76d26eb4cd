from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from tests.box.conftest import PYTHON, Shell

from epctx.box import Box, Ended
from epctx.case import File, Mount, World
from epctx.errors import HarnessError
from epctx.world import Ground, LiveWorld

pytestmark = pytest.mark.own_process


# --- how a target ends ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "ended", "words"),
    [
        ("pass", Ended(), "exited with status 0"),
        ("import os; os._exit(7)", Ended(code=7), "exited with status 7"),
        ("import os; os.abort()", Ended(signal=signal.SIGABRT), "killed by SIGABRT"),
        ("import os; os.kill(os.getpid(), 11)", Ended(signal=signal.SIGSEGV), "killed by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", Ended(signal=signal.SIGKILL), "killed by SIGKILL"),
    ],
)
def test_the_end_is_the_targets_own(shell: Shell, code: str, ended: Ended, words: str) -> None:
    assert shell.run(code)[0] == ended
    assert str(ended) == words


def test_killing_takes_all_with_it(shell: Shell) -> None:
    code = "import os, time\nif os.fork() == 0:\n  time.sleep(60)\nprint('up', flush=True)\ntime.sleep(60)"
    process = shell.box.spawn([PYTHON, "-ISc", code])
    while "up" not in process.output():
        time.sleep(0.01)
    family = [process.pid, *children(process.pid)]
    assert len(family) == 2
    assert process.poll() is None
    assert process.kill() == Ended(signal=signal.SIGKILL)
    wait_until_gone(family)
    process.close()
    process.close()


def test_what_a_target_leaves_running_ends_when_it_does(shell: Shell) -> None:
    code = "import os, time\nif os.fork() == 0:\n  time.sleep(60)\nprint('up', flush=True)\ntime.sleep(0.2)"
    with shell.box.spawn([PYTHON, "-ISc", code]) as process:
        while "up" not in process.output():
            time.sleep(0.01)
        family = [process.pid, *children(process.pid)]
        assert process.wait(10) == Ended()
        wait_until_gone(family[1:])


def test_everything_dies_with_the_keeper(shell: Shell) -> None:
    read, write = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        process = shell.box.spawn(["/bin/sleep", "60"])
        os.write(write, f"{process.pid}".encode())
        time.sleep(60)
    pid = int(os.read(read, 20))
    os.kill(keeper, signal.SIGKILL)
    os.waitpid(keeper, 0)
    wait_until_gone([pid])


def test_the_end_can_be_polled_with_other_things(shell: Shell) -> None:
    import select

    with shell.box.spawn(["/bin/sleep", "0.05"]) as process:
        assert process.wait(0) is None
        poller = select.poll()
        poller.register(process.fileno(), select.POLLIN)
        assert poller.poll(5000)
        assert process.poll() == Ended()


def test_what_cannot_start_is_a_reason(shell: Shell) -> None:
    with pytest.raises(HarnessError, match=r"/no/such/program cannot be started: No such file"):
        shell.box.spawn(["/no/such/program"])
    with pytest.raises(HarnessError, match=r"Permission denied|Exec format error"):
        shell.box.spawn(["/etc/passwd"])


def test_idle_threads_of_a_library_do_not_keep_a_target_from_starting(shell: Shell) -> None:
    assert shell.box.strength  # it is tried out before there are threads
    numpy = pytest.importorskip("numpy")
    signal.alarm(30)  # a fork that waits for a thread which the child does not have would wait for ever
    square = numpy.ones((300, 300))
    assert (square @ square)[0, 0] == 300
    assert shell.run("pass")[0] == Ended()


def test_no_descriptors_are_lost(shell: Shell) -> None:
    shell.run("pass")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        shell.run("pass")
        with pytest.raises(HarnessError):
            shell.box.spawn(["/etc/passwd"])
    assert len(os.listdir("/proc/self/fd")) == before


# --- what a target has ----------------------------------------------------------------------------------------------------------


def test_its_surroundings(shell: Shell) -> None:
    code = "import os; print(os.getcwd(), sorted(os.environ), sorted(map(int, os.listdir('/proc/self/fd'))), os.umask(0))"
    ended, printed = shell.run(code, environment={"EXTRA": "1"})
    assert ended == Ended(), printed
    assert printed == f"{os.fsdecode(shell.ground.scratch)} ['EXTRA', 'HOME', 'LANG', 'PATH', 'TMPDIR'] [0, 1, 2, 3] 18"
    assert shell.run("import os; print(os.environ['TMPDIR'])")[1] == os.fsdecode(shell.ground.scratch)
    assert shell.run("import tempfile; tempfile.TemporaryFile().write(b'1')")[0] == Ended()


def test_descriptors_come_by_number_whatever_theirs_are(shell: Shell) -> None:
    ours, theirs = socket.socketpair()
    memory = os.memfd_create("bulk")
    os.write(memory, b"bulk")
    swapped = {theirs.fileno(): memory, memory: theirs.fileno()}  # each lies where the other is wanted
    code = f"import os; os.write({memory}, os.pread({theirs.fileno()}, 9, 0))"
    with shell.box.spawn([PYTHON, "-ISc", code], fds=swapped) as process:
        assert process.wait(20) == Ended(), process.output()
    assert ours.recv(10) == b"bulk"


def test_limits(shell: Shell) -> None:
    code = "import resource as r; print([r.getrlimit(w)[0] for w in (r.RLIMIT_AS, r.RLIMIT_CORE, r.RLIMIT_NOFILE)])"
    assert shell.run(code, memory=1 << 30)[1] == f"[{1 << 30}, 0, 256]"
    assert "MemoryError" in shell.run("bytearray(1 << 31)", memory=1 << 30)[1]
    assert shell.run("bytearray(1 << 31)")[0] == Ended()


def test_address_space_that_is_only_reserved_counts_where_it_is_not_said_to_be(shell: Shell) -> None:
    code = (
        "import mmap\nreserved = mmap.mmap(-1, 1 << 32, mmap.MAP_PRIVATE, 0)\nprint('reserved', flush=True)\n"
        "try: bytearray(1 << 31)\nexcept MemoryError: print('no more')"
    )
    told = []
    for reserves in (False, True):
        with shell.box.spawn([PYTHON, "-ISc", code], memory=1 << 30, reserves=reserves) as process:
            process.wait(10)
            told.append(process.output())
    assert "Cannot allocate memory" in told[0]
    assert told[1].split() == ["reserved", "no", "more"]


def test_it_has_no_privileges(shell: Shell) -> None:
    _, printed = shell.run("print(open('/proc/self/status').read())")
    status = dict(line.split(":\t") for line in printed.splitlines() if ":\t" in line)
    uid = shell.ground.account.uid
    assert status["Uid"].split() == [str(uid)] * 4
    assert status["CapEff"] == status["CapPrm"] == status["CapInh"] == "0" * 16
    assert status["NoNewPrivs"].strip() == "1"
    if os.geteuid() == 0:
        assert (uid, status["Groups"].strip()) == (65534, "")


def test_a_write_beyond_a_limit_fails_and_does_not_kill(shell: Shell) -> None:
    code = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (9, -1)); [open('f', 'ab', 0).write(bytes(9)) for n in range(2)]"
    ended, printed = shell.run(code)
    assert ended == Ended(code=1)
    assert "File too large" in printed


def test_its_output_never_blocks_it_and_the_tail_is_kept(shell: Shell) -> None:
    with shell.box.spawn([PYTHON, "-ISc", "import os\nfor n in range(40): os.write(1 + n % 2, b'%04d' % n * 1000)"]) as process:
        assert process.wait(20) == Ended()
        assert process.output().endswith("0039")
        assert len(process.output()) == 64 << 10
    code = "import os, time\nfor n in range(400):\n try: os.write(2, b'%04d' % n * 1000)\n except BlockingIOError: pass"
    with shell.box.spawn([PYTHON, "-ISc", code]) as process:
        assert process.wait(20) == Ended()
    assert shell.run("import os; os.write(2, b'caf\\xe9')")[1] == "caf\\xe9"


# --- what a target cannot reach -------------------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory of the host that everybody may read and write."""
    for directory in (*reversed(tmp_path.parents[:3]), tmp_path):
        if directory != Path("/tmp") and os.stat(directory).st_uid == os.geteuid():
            directory.chmod(0o755)
    tmp_path.chmod(0o777)
    (tmp_path / "file").write_bytes(b"host")
    (tmp_path / "file").chmod(0o666)
    return tmp_path


ATTEMPTS = {
    "read": "open('{0}/file').read()",
    "write": "open('{0}/file', 'w').write('x')",
    "create": "open('{0}/new', 'w').write('x')",
    "remove": "os.unlink('{0}/file')",
    "rename": "os.rename('{0}/file', '{0}/other')",
    "link": "os.link('{0}/file', 'stolen')",
    "list": "os.listdir('{0}')",
    "directory": "os.mkdir('{0}/d')",
    "through a link": "os.symlink('{0}', 'l'); open('l/file').read()",
    "many levels up": "open('../../../../../../../../..{0}/file').read()",
    "the init's root": "open('/proc/1/root{0}/file').read()",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_files_of_the_host_are_out_of_reach(tight: Shell, outside: Path, attempt: str) -> None:
    before = tree(outside)
    ended, printed = tight.run("import os; " + ATTEMPTS[attempt].format(outside))
    assert ended == Ended(code=1), printed
    assert "FileNotFoundError" in printed or "PermissionError" in printed or "Read-only" in printed or "cross-device" in printed
    assert tree(outside) == before


def test_what_is_given_for_reading_can_be_read_and_nothing_more(tight: Shell, outside: Path) -> None:
    before = tree(outside)
    code = f"print(open('{outside}/file').read(), flush=True); open('{outside}/file', 'w')"
    with tight.box.spawn([PYTHON, "-ISc", code], readable=[str(outside)]) as process:
        assert process.wait(20) == Ended(code=1)
        assert process.output().startswith("host\n")
        assert "Read-only" in process.output() or "Permission" in process.output()
    assert tree(outside) == before


def test_a_file_below_a_shut_directory_comes_by_descriptor(shell: Shell, outside: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's target is the same user, from whom nothing is shut off")
    outside.chmod(0o700)
    fd = os.open(outside / "file", os.O_RDONLY)
    with shell.box.spawn([PYTHON, "-ISc", "print(open('/proc/self/fd/7').read())"], fds={7: fd}) as process:
        assert process.wait(20) == Ended(), process.output()
        assert process.output() == "host\n"


def test_a_program_below_a_shut_directory_starts(shell: Shell, outside: Path) -> None:
    (outside / "program").write_bytes(Path("/bin/true").read_bytes())
    (outside / "program").chmod(0o755)
    outside.chmod(0o700)
    with shell.box.spawn([str(outside / "program")]) as process:
        assert process.wait(20) == Ended(), process.output()


def test_six_levels_up_is_out_of_reach_and_four_are_in_the_margin(shell: Shell) -> None:
    assert shell.run(f"open('{shell.root}/../../../../x', 'w').write('1')")[0] == Ended()
    assert (shell.root / "../../../../x").exists()
    assert shell.run(f"open('{shell.root}/../../../../../x', 'w').write('1')")[0] == Ended(code=1)


def test_the_network_is_out_of_reach(tight: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ended, printed = tight.run(f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
    assert ended == Ended(code=1)
    assert "unreachable" in printed or "Permission" in printed


def test_other_processes_are_out_of_reach(tight: Shell) -> None:
    victim = subprocess.Popen(["/bin/sleep", "60"])
    try:
        for code in (f"import os; os.kill({victim.pid}, 9)", f"import os; os.listdir('/proc/{victim.pid}/fd/')[0]"):
            ended, printed = tight.run(code)
            if not (tight.box.strength == "landlock" and "fd" in code and os.geteuid() != 0):
                assert ended == Ended(code=1), (code, printed)
        assert victim.poll() is None
        code = f"import ctypes; print([ctypes.CDLL(None).ptrace(16, p, 0, 0) for p in ({victim.pid}, {os.getpid()}, 1)])"
        assert tight.run(code)[1] == "[-1, -1, -1]"
        seen = tight.run("import os; print([n for n in os.listdir('/proc') if n.isdigit()])")[1]
        if tight.box.strength == "namespaces":
            assert seen == "['1', '2']"
    finally:
        victim.kill()
        victim.wait()


def test_the_init_of_a_box_cannot_be_killed_from_inside(shell: Shell) -> None:
    if shell.box.strength != "namespaces":
        pytest.skip("only a box with namespaces has one")
    _, printed = shell.run("import os, time\ntry: os.kill(1, 9)\nexcept PermissionError: pass\ntime.sleep(0.05)\nprint('alive')")
    assert printed == "alive"


def test_system_files_cannot_be_changed(tight: Shell) -> None:
    for path in ("/usr/x", "/x", "/tmp/x", "/dev/shm/x", "/dev/x"):
        ended, _ = tight.run(f"open('{path}', 'w')")
        assert ended == Ended(code=1), path


def test_mounts_made_later_show_in_the_box(shell: Shell) -> None:
    if shell.ground.why_no_mounts:
        pytest.skip(shell.ground.why_no_mounts)
    live = LiveWorld(shell.plot)
    live.change_to(World((File("outside/f"),)), None, None)
    code = f"import os; os.chdir('{shell.root}'); os.read(3, 1); print(os.listdir('m'), len(open('m/f', 'rb').read()))"
    read, write = os.pipe()
    with shell.box.spawn([PYTHON, "-ISc", code], fds={3: read}) as process:
        live.change_to(World((File("outside/f"), Mount("m", of="outside", readonly=True))), None, None)
        os.write(write, b"1")
        process.wait(20)
        assert process.output() == "['f'] 96\n"
    live.close()


# --- which box ------------------------------------------------------------------------------------------------------------------


def test_the_box_says_what_it_is(shell: Shell) -> None:
    words = shell.box.describe()
    assert shell.ground.account.why in words
    assert ("WARNING: the target is not boxed" in words) == (shell.box.strength == "none")
    if shell.box.strength != "namespaces":
        assert "it was asked for" in words


def test_the_strongest_is_taken_and_the_reason_given_if_that_is_not_the_first() -> None:
    ground = Ground(namespace=os.geteuid() == 0)
    box = Box(ground)
    if os.geteuid() == 0 and box.strength == "namespaces":
        assert box.weaker_because == ""
    else:
        assert "namespaces cannot be had: " in box.weaker_because
        assert box.weaker_because in box.describe()
    ground.close()


def children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + 5
    while alive := [pid for pid in pids if os.path.exists(f"/proc/{pid}") and " Z " not in Path(f"/proc/{pid}/stat").read_text()]:
        assert time.monotonic() < end, alive
        time.sleep(0.01)


def tree(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in directory.rglob("*")}
