"""The flows of ``encrypted_flow.py`` through ONNX Runtime's C API, for 1.28 to 1.30, whose Python binding takes no callbacks.

There the functions that register them are experimental: they are looked up by name. From 1.31 on they have places in the tables
of the API, and are taken from there, so that this works on every version from 1.28 on. A function of a table is called by its
position, which never changes.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Mapping
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int64, c_size_t, c_void_p
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy

API_VERSION = 28
FLOAT = 1

# Positions in OrtApi and, from OUTPUT_WRITE_FUNC on, OrtCompileApi.
CREATE_STATUS, GET_ERROR_MESSAGE, CREATE_ENV, CREATE_SESSION_FROM_ARRAY, RUN, CREATE_SESSION_OPTIONS = 0, 2, 3, 8, 9, 10
SET_LOG_LEVEL, CREATE_TENSOR_WITH_DATA, TENSOR_DATA, TENSOR_INFO, ELEMENT_COUNT = 22, 49, 51, 65, 64
CREATE_CPU_MEMORY_INFO, ALLOCATOR_ALLOC, RELEASE_ENV, RELEASE_STATUS, RELEASE_MEMORY_INFO = 69, 75, 92, 93, 94
RELEASE_SESSION, RELEASE_VALUE, RELEASE_TENSOR_INFO, RELEASE_SESSION_OPTIONS = 95, 96, 99, 100
ADD_FILES_IN_MEMORY, GET_COMPILE_API, REGISTER_LIBRARY, GET_EP_DEVICES, APPEND_PROVIDER = 279, 294, 301, 303, 304
EP_NAME, CREATE_EXTERNAL_INFO, GET_EXPERIMENTAL_FUNCTION, SET_READ_FUNC = 312, 389, 422, 426
RELEASE_COMPILATION, CREATE_COMPILATION, INPUT_FROM_BUFFER, COMPILE = 0, 1, 3, 8
OUTPUT_WRITE_FUNC, INITIALIZER_LOCATION_FUNC, SET_WRITE_FUNC = 12, 13, 16

ReadFunc = CFUNCTYPE(c_void_p, c_void_p, c_char_p, c_void_p, POINTER(c_void_p), POINTER(c_size_t))
WriteFunc = CFUNCTYPE(c_void_p, c_void_p, c_char_p, c_void_p, c_size_t)
OutputFunc = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t)
LocationFunc = CFUNCTYPE(c_void_p, c_void_p, c_char_p, c_void_p, c_void_p, POINTER(c_void_p))


class Files(Protocol):
    """Where encrypted files are kept: ``encrypted_flow.Vault``."""

    def put(self, name: str, data: bytes) -> None:
        """Encrypt a file."""

    def get(self, name: str) -> bytes:
        """The content of a file."""


class Runtime:
    """ONNX Runtime with the provider of a library, to which ``provider`` gives options. A context manager."""

    def __init__(self, library: str, provider: Mapping[str, str]) -> None:
        spec = find_spec("onnxruntime")
        assert spec is not None
        assert spec.origin is not None
        (found,) = Path(spec.origin).parent.glob("capi/libonnxruntime.so.*.*.*")
        base = ctypes.CDLL(str(found)).OrtGetApiBase
        base.restype = POINTER(c_void_p)
        get_api = CFUNCTYPE(c_void_p, ctypes.c_uint32)(base()[0])
        self._api = get_api(API_VERSION)
        self._provider, self._library, self._kept = provider, library, contextlib.ExitStack()

    def __enter__(self) -> Runtime:
        self.env = self.made(CREATE_ENV, RELEASE_ENV, 3, b"example")
        self.call(REGISTER_LIBRARY, self.env, b"epctx", self._library.encode())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._kept.close()

    def function(self, position: int, result: Any = c_void_p, table: int | None = None) -> Callable[..., Any]:
        """The function at a position of a table, which is OrtApi unless it is given."""
        address = ctypes.cast(table or self._api, POINTER(c_void_p))[position]
        assert address is not None
        return lambda *arguments: CFUNCTYPE(result)(address)(*(c_size_t(a) if type(a) is int else a for a in arguments))

    def check(self, status: int | None) -> None:
        """RuntimeError for a status that is an error."""
        if status:
            message = self.function(GET_ERROR_MESSAGE, c_char_p)(status).decode("utf-8", "backslashreplace")
            self.function(RELEASE_STATUS, None)(status)
            raise RuntimeError(message)

    def call(self, position: int, *arguments: Any, table: int | None = None) -> None:
        """Call a function that gives a status."""
        self.check(self.function(position, table=table)(*arguments))

    def made(self, create: int, release: int, *arguments: Any, table: int | None = None) -> int:
        """An object, which is released when the runtime is left."""
        out = c_void_p()
        self.call(create, *arguments, byref(out), table=table)
        assert out.value is not None
        self._kept.callback(self.function(release, None, table=table), out.value)
        return out.value

    def register(self, experimental: bytes, position: int, options: int, function: Any, table: int | None = None) -> None:
        """Register a callback: through the experimental function of that name, else the one at a position of a table."""
        found = self.function(GET_EXPERIMENTAL_FUNCTION)(experimental)
        if found:
            self.check(CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p)(found)(options, ctypes.cast(function, c_void_p), None))
        else:
            self.call(position, options, function, None, table=table)

    def answer(self, function: Callable[[], None]) -> int | None:
        """The status that a callback gives: NULL, or an error with the words of the exception that it raised."""
        try:
            function()
        except Exception as error:
            return self.function(CREATE_STATUS)(1, str(error).encode())  # type: ignore[no-any-return]
        return None

    def session_options(self, files: Mapping[str, bytes]) -> int:
        """Options of a session with the provider, and with files in memory, which must be kept as long as it is made."""
        options = self.made(CREATE_SESSION_OPTIONS, RELEASE_SESSION_OPTIONS)
        self.call(SET_LOG_LEVEL, options, 3)
        devices, count = POINTER(c_void_p)(), c_size_t()
        self.call(GET_EP_DEVICES, self.env, byref(devices), byref(count))
        ours = [device for device in devices[: count.value] if self.function(EP_NAME, c_char_p)(device).startswith(b"Epctx")]
        keys, values = _texts(self._provider), _texts(self._provider.values())
        self.call(APPEND_PROVIDER, options, self.env, (c_void_p * len(ours))(*ours), len(ours), keys, values, len(self._provider))
        lengths = (c_size_t * len(files))(*map(len, files.values()))
        contents = (c_char_p * len(files))(*files.values())
        self.call(ADD_FILES_IN_MEMORY, options, _texts(files), contents, lengths, len(files))
        return options

    def floats(self, value: int) -> Any:
        """The elements of a tensor."""
        data, info, count = c_void_p(), c_void_p(), c_size_t()
        self.call(TENSOR_DATA, value, byref(data))
        self.call(TENSOR_INFO, value, byref(info))
        self.call(ELEMENT_COUNT, info, byref(count))
        self.function(RELEASE_TENSOR_INFO, None)(info)
        return numpy.ctypeslib.as_array(ctypes.cast(data, POINTER(ctypes.c_float)), (count.value,)).copy()


def compile_encrypted(runtime: Runtime, vault: Files) -> None:
    """Flow 1: from an encrypted model to an encrypted compiled model, encrypted weights and encrypted EPContext data."""
    compiled = bytearray()

    def write_model(_: object, buffer: int, size: int) -> int | None:
        return runtime.answer(lambda: compiled.extend(ctypes.string_at(buffer, size)))

    def place(_: object, name: bytes, value: int, __: object, info: Any) -> int | None:
        def store() -> None:
            data, file = runtime.floats(value).tobytes(), f"{name.decode()}.bin"
            vault.put(file, data)
            runtime.call(CREATE_EXTERNAL_INFO, file.encode(), c_int64(0), len(data), info)

        return runtime.answer(store)

    def write(_: object, name: bytes, buffer: int, size: int) -> int | None:
        return runtime.answer(lambda: vault.put(name.decode(), ctypes.string_at(buffer, size)))

    # held here, since ONNX Runtime knows of their addresses only
    output_func, location_func, write_func = OutputFunc(write_model), LocationFunc(place), WriteFunc(write)
    table = runtime.function(GET_COMPILE_API)()
    model, files = vault.get("model.onnx"), {"weights.bin": vault.get("weights.bin")}
    options = runtime.session_options(files)
    compilation = runtime.made(CREATE_COMPILATION, RELEASE_COMPILATION, runtime.env, options, table=table)
    runtime.call(INPUT_FROM_BUFFER, compilation, model, len(model), table=table)
    runtime.call(OUTPUT_WRITE_FUNC, compilation, output_func, None, table=table)
    runtime.call(INITIALIZER_LOCATION_FUNC, compilation, location_func, None, table=table)
    experimental = b"OrtCompileApi_ModelCompilationOptions_SetEpContextDataWriteFunc_SinceV28"
    runtime.register(experimental, SET_WRITE_FUNC, compilation, write_func, table)
    runtime.call(COMPILE, runtime.env, compilation, table=table)
    vault.put("compiled.onnx", bytes(compiled))


def run_encrypted(runtime: Runtime, vault: Files, x: Any) -> Any:
    """Flow 2: the result of the compiled model, which is decrypted in memory."""

    def read(_: object, name: bytes, allocator: int, buffer: Any, size: Any) -> int | None:
        def fill() -> None:
            data = vault.get(name.decode())
            runtime.call(ALLOCATOR_ALLOC, allocator, len(data), buffer)
            ctypes.memmove(buffer[0], data, len(data))
            size[0] = len(data)

        return runtime.answer(fill)

    read_func = ReadFunc(read)
    model, files = vault.get("compiled.onnx"), {"shift.bin": vault.get("shift.bin")}
    options = runtime.session_options(files)
    runtime.register(b"OrtApi_SessionOptions_SetEpContextDataReadFunc_SinceV28", SET_READ_FUNC, options, read_func)
    session = runtime.made(CREATE_SESSION_FROM_ARRAY, RELEASE_SESSION, runtime.env, model, len(model), options)
    memory = runtime.made(CREATE_CPU_MEMORY_INFO, RELEASE_MEMORY_INFO, 0, 0)
    shape = (c_int64 * 1)(x.size)
    data = x.ctypes.data_as(c_void_p)
    given = runtime.made(CREATE_TENSOR_WITH_DATA, RELEASE_VALUE, memory, data, x.nbytes, shape, 1, FLOAT)
    result = runtime.made(RUN, RELEASE_VALUE, session, None, _texts(["x"]), byref(c_void_p(given)), 1, _texts(["y"]), 1)
    return runtime.floats(result)


def _texts(words: Any) -> Any:
    """Texts as C has them."""
    encoded = [word.encode() for word in words]
    return (c_char_p * len(encoded))(*encoded)
