"""A campaign on more than one machine: what is to be done goes to the workers of a Dask cluster, what comes of it comes back.

Only a process with a single thread can have namespaces of its own, and a worker of Dask has several. So beside each of them there
is one of epctx's, with keeper, ground and box, which does the work and ends with it.
"""

from __future__ import annotations

import importlib.metadata
import logging
import multiprocessing
import signal
import tempfile
import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from typing import Any, ParamSpec, Self, TypeVar, cast

import dask
import msgspec
from distributed import Client, KilledWorker, LocalCluster, Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from msgspec.structs import replace

from epctx import __version__
from epctx.box import Strength
from epctx.case import Sanitizer
from epctx.errors import EpctxError, HarnessError, UsageError
from epctx.fuzz.engine import ready
from epctx.fuzz.store import Setting
from epctx.fuzz.tasks import TRIES
from epctx.fuzz.work import Order
from epctx.run import worker
from epctx.run.keeper import Conditions
from epctx.run.runner import Runner, shares_of
from epctx.target import Launch, prepare

P = ParamSpec("P")
T = TypeVar("T")

LOCAL = "local"
"""The cluster that is started for a campaign, and ends with it."""
PATIENCE = 20.0
"""Seconds in which a scheduler must answer, and have a worker."""


class Cluster:
    """The workers of a Dask cluster: ``jobs`` new ones of this machine for ``local``, else those of the scheduler at an address.

    They run the target and the engine of a campaign's ``setting``, built for a sanitizer if one is named, in boxes of the given
    strength (None: the strongest). A context manager, which raises UsageError if epctx of this version is not where the workers
    are, and HarnessError if there are none.
    """

    def __init__(
        self, address: str, setting: Setting, *, jobs: int, box: Strength | None = None, sanitizer: Sanitizer | None = None
    ) -> None:
        self.address, self.jobs = address, jobs
        local = address == LOCAL
        shares = shares_of(jobs) if local else []
        self._beside = _Beside(f"epctx-{uuid.uuid4()}", None if local else setting, box, sanitizer, shares)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.enter_context(dask.config.set(SETTINGS))
            self._client = opened.enter_context(self._connected(opened))
            self._look_for_epctx()
            self._client.register_plugin(self._beside)
            opened.callback(self._client.unregister_worker_plugin, self._beside.name)
            executor = self._client.get_executor(pure=False)
            opened.callback(executor.shutdown, wait=False)
            self._submit = executor.submit
            self._open = opened.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        """End what runs beside Dask's workers, and the cluster, if it is a local one."""
        self._open.close()

    def conditions(self, launch: Launch) -> Conditions:
        """Under which conditions the target runs there. TargetError if it cannot be loaded, UsageError if they differ."""
        packed, everywhere = msgspec.msgpack.encode(launch), list(self._client.nthreads())
        futures = {at: self._client.submit(_conditions, self._beside.name, packed, workers=[at], pure=False) for at in everywhere}
        found: dict[str, Conditions] = {at: future.result() for at, future in futures.items()}
        first, *others = found
        for other in others:
            if (found[other].ort, found[other].can) != (found[first].ort, found[first].can):
                raise UsageError(
                    f"The workers at {first} and {other} are not alike: the target meets ONNX Runtime {found[first].ort} at one "
                    f"and {found[other].ort} at the other; install the same release everywhere."
                )
        return found[first]

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Hand a call to a worker, whose first argument is a packed order. What its worker died of is tried again by another."""
        told: Future[T] = Future()
        self._submit(_call, self._beside.name, function, *args).add_done_callback(lambda done: _tell(done, told, self.address))
        return told

    def renew(self) -> None:
        """Nothing: a worker that dies is replaced by Dask, and what was with it goes to others."""

    def _connected(self, opened: ExitStack) -> Client:
        if self.address == LOCAL:
            scratch = opened.enter_context(tempfile.TemporaryDirectory(prefix="epctx-"))
            cluster = opened.enter_context(
                LocalCluster(  # type: ignore[no-untyped-call]
                    self.jobs,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address=None,
                    memory_limit=None,
                    local_directory=scratch,
                    silence_logs=logging.CRITICAL,
                )
            )
            return Client(cluster)  # type: ignore[no-untyped-call]
        try:
            client = Client(self.address, timeout=PATIENCE, direct_to_workers=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise HarnessError(f"No scheduler answers at {self.address} ({error}); start one with `dask scheduler`.") from None
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            client.close()  # type: ignore[no-untyped-call]
            raise HarnessError(f"The scheduler at {self.address} has no workers; start some with `dask worker`.") from None
        self.jobs = len(client.nthreads())  # type: ignore[no-untyped-call]
        return client

    def _look_for_epctx(self) -> None:
        versions = self._client.run(importlib.metadata.version, "epctx", on_error="return")
        for at, version in versions.items():
            if version != __version__:
                what = "no epctx" if isinstance(version, Exception) else f"epctx {version}"
                raise UsageError(f"The worker at {at} has {what}; install epctx {__version__} where the workers are.")


SETTINGS = {
    "distributed.worker.daemon": False,  # else its processes must not start processes
    "distributed.scheduler.allowed-failures": TRIES - 1,
    "distributed.comm.timeouts.connect": f"{PATIENCE}s",
}


class _Beside(WorkerPlugin):
    """What runs beside a worker of Dask: a worker of epctx, started when it is first needed."""

    def __init__(
        self,
        name: str,
        setting: Setting | None,
        box: Strength | None,
        sanitizer: Sanitizer | None,
        shares: Sequence[Sequence[int]],
    ) -> None:
        """``setting`` is None where the machine is the campaign's own, and what was prepared there is at hand. There each worker
        has one of these ``shares`` of the processors, if there are any."""
        self.name, self._shares = name, shares
        self._setting, self._box, self._sanitizer = setting, box, sanitizer
        self._runner: Runner | None = None
        self._launch: Launch | None = None
        self._orders: dict[bytes, bytes] = {}
        self._ended = False

    def setup(self, worker: Worker) -> None:
        """Begin: a worker that somebody else started may be one that must not start processes, and one of ours gets Ctrl-C."""
        multiprocessing.current_process().daemon = False
        self._shares = self._shares and [self._shares[int(worker.name) % len(self._shares)]]
        self._one_by_one = threading.Lock()
        if self._setting is None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def teardown(self, worker: Worker) -> None:
        """End the worker of epctx, and with it driver and ground."""
        self._ended = True
        if self._runner:
            self._runner.__exit__()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the worker of epctx; one that dies of something else than the call is replaced."""
        with self._one_by_one:
            for _ in range(TRIES):
                if self._ended:
                    raise HarnessError("The campaign is over.")
                if self._runner is None:
                    self._runner = Runner(jobs=1, box=self._box, shares=self._shares).__enter__()
                try:
                    return self._runner.submit(function, *arguments).result()
                except BrokenProcessPool:
                    if not self._ended:
                        self._runner.renew()
            raise HarnessError(f"A worker of the harness died {TRIES} times at a task; please report this.")

    def launch(self, launch: Launch) -> Launch:
        """The target as it is made ready here."""
        if self._setting is None:
            return launch
        if self._launch is None:
            ready(self._setting)
            self._launch = prepare(self._setting.target, self._sanitizer)
        return self._launch

    def order(self, packed: bytes) -> bytes:
        """An order with the target as it is made ready here."""
        if packed not in self._orders:
            order = msgspec.msgpack.decode(packed, type=Order)
            self._orders[packed] = msgspec.msgpack.encode(replace(order, launch=self.launch(order.launch)))
        return self._orders[packed]


def _beside(name: str) -> _Beside:
    return cast(_Beside, get_worker().plugins[name])


def _call(name: str, function: Callable[..., T], order: bytes, *arguments: Any) -> T:
    """A task of Dask's: a call in the worker of epctx beside Dask's."""
    beside = _beside(name)
    result: T = beside.call(function, beside.order(order), *arguments)
    return result


def _conditions(name: str, launch: bytes) -> Conditions:
    """A task of Dask's: how the target runs here."""
    beside = _beside(name)
    here = beside.launch(msgspec.msgpack.decode(launch, type=Launch))
    found: Conditions = beside.call(worker.conditions, msgspec.msgpack.encode(here))
    return found


def _tell(done: Future[T], told: Future[T], address: str) -> None:
    """Hand on what came of a task."""
    try:
        told.set_result(done.result())
    except EpctxError as error:
        told.set_exception(error)
    except KilledWorker as error:
        told.set_exception(HarnessError(f"Workers died {TRIES} times at the same task ({error}); please report this."))
    except CancelledError:
        told.set_exception(HarnessError(f"The connection to {address} was lost; go on with --resume."))
    except BaseException as error:
        told.set_exception(error)
