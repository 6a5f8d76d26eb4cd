"""Compile an encrypted model and run it, with nothing but ciphertext on the disk: ``python docs/examples/encrypted_flow.py``.

The application holds the key. ONNX Runtime and the execution provider are given plaintext in memory only: the model as bytes,
its external weights as files in memory, and the data of EPContext nodes through callbacks. Each flow runs as a program of its own
under the lookout of epctx, which looks for plaintext in every file that is written, also in those that are removed again at once.

The execution provider is the one that comes with epctx; --weak gives it a fault (those of ``epctx list weak`` that are called
plaintext-...). It needs ``cryptography`` and ONNX Runtime 1.28 or later.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnxruntime
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from onnx import TensorProto, helper

from epctx.lookout import Watched, run_watched
from epctx.target import build

KEY = "EXAMPLE_KEY"
"""The environment variable with the key, in hex. A real application would ask a key store."""

SIZE = 4096
"""Elements of each of the model's two vectors: the result is x * scale + shift."""

HAS_CALLBACKS = hasattr(onnxruntime.SessionOptions, "set_ep_context_data_read_func")
"""Whether the Python binding takes callbacks for EPContext data (ONNX Runtime 1.31 and later)."""


class Vault:
    """Files that are on the disk only as what AES-GCM makes of them. A file's name is authenticated with its content."""

    def __init__(self, directory: Path, key: bytes) -> None:
        self.directory, self._cipher = directory, AESGCM(key)

    def put(self, name: str, data: bytes) -> None:
        """Encrypt a file."""
        nonce = os.urandom(12)
        (self.directory / f"{name}.enc").write_bytes(nonce + self._cipher.encrypt(nonce, data, name.encode()))

    def get(self, name: str) -> bytes:
        """The content of a file. cryptography.exceptions.InvalidTag if it was tampered with, or is another one."""
        data = (self.directory / f"{name}.enc").read_bytes()
        return self._cipher.decrypt(data[:12], data[12:], name.encode())


# --- the flows, with callbacks ----------------------------------------------------------------------------------------------


def session_options(provider: Mapping[str, str], files: Mapping[str, bytes]) -> Any:
    """Options of a session with the provider, to which external weights are given as files in memory.

    They are not copied: keep ``files`` until the session is there, or the model compiled.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "EpctxExecutionProvider"]
    options.add_provider_for_devices(devices, dict(provider))
    if files:
        options.add_external_initializers_from_files_in_memory(
            list(files), list(files.values()), [len(data) for data in files.values()]
        )
    return options


def compile_encrypted(vault: Vault, provider: Mapping[str, str]) -> None:
    """Flow 1: from an encrypted model to an encrypted compiled model, encrypted weights and encrypted EPContext data."""

    def place(name: str, value: Any, _: object) -> Any:
        vault.put(f"{name}.bin", value.numpy().tobytes())
        return onnxruntime.OrtExternalInitializerInfo(f"{name}.bin", 0, value.tensor_size_in_bytes())

    files = {"weights.bin": vault.get("weights.bin")}
    options = session_options(provider, files)
    compiler = onnxruntime.ModelCompiler(options, vault.get("model.onnx"), get_initializer_location_func=place)
    compiler.set_ep_context_data_write_func(lambda name, data: vault.put(name, data.read(0, data.size)))
    compiled = bytearray()
    compiler.compile_to_stream(compiled.extend)
    vault.put("compiled.onnx", bytes(compiled))


def run_encrypted(vault: Vault, provider: Mapping[str, str], x: Any) -> Any:
    """Flow 2: the result of the compiled model, which is decrypted in memory."""

    def read(name: str, buffer: Any) -> None:
        data = vault.get(name)
        buffer.allocate(len(data))
        buffer.write(data, 0)

    files = {"shift.bin": vault.get("shift.bin")}
    options = session_options(provider, files)
    options.set_ep_context_data_read_func(read, 1 << 30)
    session = onnxruntime.InferenceSession(vault.get("compiled.onnx"), options)
    assert session.get_providers()[0] == "EpctxExecutionProvider"
    return session.run(None, {"x": x})[0]


# --- the same without callbacks: what an application has to do then ---------------------------------------------------------


def compile_in_files(vault: Vault, provider: Mapping[str, str]) -> None:
    """Decrypt to files, since the provider reads and writes files, and encrypt what came out of it."""
    for name in ("model.onnx", "weights.bin"):
        (vault.directory / name).write_bytes(vault.get(name))
    compiler = onnxruntime.ModelCompiler(
        session_options(provider, {}),
        vault.directory / "model.onnx",
        external_initializers_file_path="shift.bin",
    )
    compiler.compile_to_file(vault.directory / "compiled.onnx")
    for name in ("compiled.onnx", "shift.bin", "engine.bin"):
        vault.put(name, (vault.directory / name).read_bytes())
    for name in ("model.onnx", "weights.bin", "compiled.onnx", "shift.bin", "engine.bin"):
        (vault.directory / name).unlink()


def run_in_files(vault: Vault, provider: Mapping[str, str], x: Any) -> Any:
    """Decrypt to files, run, and remove them: for a while they were there."""
    names = ("compiled.onnx", "shift.bin", "engine.bin")
    for name in names:
        (vault.directory / name).write_bytes(vault.get(name))
    session = onnxruntime.InferenceSession(vault.directory / "compiled.onnx", session_options(provider, {}))
    assert session.get_providers()[0] == "EpctxExecutionProvider"
    for name in names:
        (vault.directory / name).unlink()
    return session.run(None, {"x": x})[0]


# --- the application --------------------------------------------------------------------------------------------------------


def vectors() -> tuple[Any, Any]:
    """The two constants of the model."""
    generator = numpy.random.default_rng(1)
    return generator.random(SIZE, numpy.float32), generator.random(SIZE, numpy.float32)


def source_model() -> tuple[bytes, bytes]:
    """A model for x * scale + shift, with the scale in it, and its external file of weights with the shift."""
    scale, shift = vectors()
    outside = TensorProto(name="shift", data_type=TensorProto.FLOAT, dims=[SIZE], data_location=TensorProto.EXTERNAL)
    outside.external_data.add(key="location", value="weights.bin")
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["x", "scale"], ["scaled"], name="engine.bin"),  # the name of its data, too
            helper.make_node("Add", ["scaled", "shift"], ["y"]),
        ],
        "example",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [SIZE])],
        [onnx.numpy_helper.from_array(scale, "scale"), outside],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model.SerializeToString(), shift.tobytes()


def application(directory: Path, library: str, weak: str, how: str) -> None:
    """Both flows, on the encrypted model that lies in the directory; AssertionError if the result is not right."""
    vault = Vault(directory, bytes.fromhex(os.environ[KEY]))
    provider = {"name": "node", **({"helper": f"weak={weak}"} if weak else {})}
    x = numpy.array([3], numpy.float32)
    if how == "c-api":
        import encrypted_flow_c as c_api

        with c_api.Runtime(library, provider) as runtime:
            c_api.compile_encrypted(runtime, vault)
            y = c_api.run_encrypted(runtime, vault, x)
    else:
        onnxruntime.register_execution_provider_library("epctx", library)
        if how == "callbacks":
            compile_encrypted(vault, provider)
            y = run_encrypted(vault, provider, x)
        else:
            compile_in_files(vault, provider)
            y = run_in_files(vault, provider, x)
    scale, shift = vectors()
    numpy.testing.assert_allclose(y, x * scale + shift, rtol=1e-6)


# --- under the lookout ------------------------------------------------------------------------------------------------------


def watch(directory: Path, how: str, weak: str = "") -> Watched:
    """What the lookout saw of the application, which finds its encrypted model in the directory."""
    key = AESGCM.generate_key(256)
    model, weights = source_model()
    vault = Vault(directory, key)
    vault.put("model.onnx", model)
    vault.put("weights.bin", weights)
    (directory / "tmp").mkdir()
    return run_watched(
        [sys.executable, __file__, "--application", how, str(directory), str(build.ep()), weak],
        secrets=[model, weights],  # the scale, which becomes EPContext data, is in the model
        places=[directory],
        cwd=directory,
        env={**os.environ, KEY: key.hex(), "TMPDIR": str(directory / "tmp")},
        timeout=120,
    )


def main() -> int:
    """Run the flows, and say what was seen."""
    parser = argparse.ArgumentParser(
        description="Compile an encrypted model and run it, with nothing but ciphertext on the disk."
    )
    parser.add_argument("--weak", default="", help="a fault for the execution provider, such as plaintext-in-temporary-directory")
    parser.add_argument("--application", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.application:
        how, directory, library, weak = options.application
        application(Path(directory), library, weak, how)
        return 0
    print(f"ONNX Runtime {onnxruntime.__version__}")
    clean = True
    for how in ("callbacks" if HAS_CALLBACKS else "c-api", "files"):
        with tempfile.TemporaryDirectory(prefix="encrypted-flow-") as made:
            run = watch(Path(made).resolve(), how, options.weak)
            if run.code:
                print(run.output)
                return run.code
            left = sorted(path.name for path in Path(made).iterdir() if path.is_file())
            seen = [str(Path(path).relative_to(Path(made).resolve())) for path in run.plaintext]
        print(f"\nwith {'callbacks' if how != 'files' else 'files, for comparison'}: the result is right")
        print(f"  left on the disk:    {', '.join(left)}")
        print(f"  plaintext was seen:  {', '.join(seen) or 'nowhere, at any time'}")
        if how != "files":
            clean = not seen
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
