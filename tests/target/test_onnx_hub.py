"""The driver of onnx's model hub, on a stand-in that does what the hub did: download an archive, and extract it all."""

from __future__ import annotations

import importlib
import json
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import IO, Any

import pytest
from onnx import ModelProto, StringStringEntryProto, TensorProto, helper

from epctx_driver.serve import Request


class Hub(ModuleType):
    """``onnx.hub`` as far as the driver needs it."""

    urlopen: Callable[[str], IO[bytes]]
    directory = ""

    def set_dir(self, directory: str) -> None:
        self.directory = directory

    def download_model_with_test_data(self, name: str, *, force_reload: bool) -> str:
        assert force_reload
        with self.urlopen("https://hub.example/ONNX_HUB_MANIFEST.json") as answer:
            (model,) = (m for m in json.load(answer) if m["model"] == name)
        path = Path(self.directory, model["metadata"]["model_with_data_path"])
        print("Downloading to", path)
        with self.urlopen(f"https://hub.example/{model['metadata']['model_with_data_path']}") as answer:
            path.write_bytes(answer.read())
        with tarfile.open(path) as archive:
            archive.extraction_filter = staticmethod(lambda member, _: member)  # nothing is filtered; older Pythons do not ask
            archive.extractall(str(path)[:-7])
        return str(path)[:-7]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    hub = Hub("onnx.hub")
    monkeypatch.setitem(sys.modules, "onnx.hub", hub)
    monkeypatch.delitem(sys.modules, "epctx_driver.onnx_hub", raising=False)
    yield importlib.import_module("epctx_driver.onnx_hub").open_loader()
    sys.modules.pop("epctx_driver.onnx_hub", None)


def model(directory: Path, name: str, content: bytes) -> Request:
    tensor = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[len(content)], raw_data=content)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.append(StringStringEntryProto(key="location", value=name))
    made: ModelProto = helper.make_model(helper.make_graph([], "it", [], [], initializer=[tensor]))
    directory.mkdir(exist_ok=True)
    (directory / "model.onnx").write_bytes(made.SerializeToString())
    return Request("write", str(directory / "model.onnx").encode(), b"")


@pytest.mark.parametrize(("name", "lands"), [("a/new.bin", "model/a/new.bin"), ("../out.bin", "out.bin")])
def test_an_archive_is_extracted_in_the_directory_of_the_model(
    driver: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, lands: str
) -> None:
    driver.write(model(tmp_path / "model", name, b"what it holds"))
    files = {str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert files.pop("model/model.onnx")
    assert files == {lands: b"what it holds"}  # and no archive
    assert capsys.readouterr().out == ""


def test_a_refused_archive_is_taken_away_too(driver: Any, tmp_path: Path) -> None:
    request = model(tmp_path / "model", "model.onnx/x", b"x")  # a file is in the place of a directory
    with pytest.raises(OSError, match=r"model\.onnx"):
        driver.write(request)
    assert [p.name for p in (tmp_path / "model").iterdir()] == ["model.onnx"]


def test_an_onnx_without_the_hub_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", SimpleNamespace(__version__="1.23.2"))
    monkeypatch.delitem(sys.modules, "epctx_driver.onnx_hub", raising=False)
    with pytest.raises(ImportError, match=r"^onnx 1\.23\.2 has no model hub; 1\.20 is the last that has it$"):
        importlib.import_module("epctx_driver.onnx_hub")
