"""Profiles of loaders that people install: what each of them publishes about itself, and where.

None of them was written against the design document, whose rules on files are those that any loader of untrusted models has to
keep. A profile says where such a loader takes a side that the document leaves open, or does something else on purpose.
"""

from __future__ import annotations

from msgspec.structs import replace

from epctx.oracle.profile import Profile

ONNX = Profile(
    "external-onnx",
    "External data of onnx: a location is relative to the model's directory, and does not leave it.",
    ("spec",),
    contract="what onnx publishes about its external data",
    scope="effects",
    loader="onnx",
    departures={
        "type.write-replaces": "saving adds a tensor at the end of a file that exists: several tensors share one",
    },
    sources=(
        "https://onnx.ai/onnx/repo-docs/ExternalData.html",
        "https://github.com/onnx/onnx/blob/main/onnx/external_data_helper.py (save_external_data)",
    ),
)

HUB = Profile(
    "hub-onnx",
    "Archives of onnx's model hub: what is in one is extracted in a directory of its own, and nowhere else.",
    ("spec",),
    contract="what onnx publishes about its model hub",
    scope="effects",
    loader="onnx-hub",
    departures={
        "type.write-parent-missing": "extracting makes the directories in which a file lies",
    },
    sources=(
        "https://github.com/onnx/onnx/pull/6164",
        "https://github.com/onnx/onnx/pull/6222",
        "https://docs.python.org/3/library/tarfile.html#tarfile.data_filter",
    ),
)

ORT = Profile(
    "external-ort",
    "External initializers of ONNX Runtime: a location is relative to the model's directory, and does not leave it.",
    ("spec",),
    contract="what ONNX Runtime publishes about external initializers",
    scope="effects",
    loader="ort",
    from_memory="working directory",
    sources=(
        "https://github.com/microsoft/onnxruntime/pull/26776",
        "https://github.com/microsoft/onnxruntime/pull/27539 (models from memory)",
    ),
)

LOADERS = (
    ONNX,
    replace(
        ONNX,
        name="external-onnx-1.21",
        summary="The same from onnx 1.21 on: files with several hard links are refused, too.",
        since=(1, 21, 0),
        policies={"contain.hard-link": "refuse"},
        sources=(
            *ONNX.sources,
            "https://onnx.ai/onnx/repo-docs/Security.html",
            "https://github.com/onnx/onnx/pull/7686",
            "https://github.com/onnx/onnx/pull/7717",
        ),
    ),
    HUB,
    ORT,
    replace(
        ORT,
        name="external-ort-1.24.2",
        summary="The same from ONNX Runtime 1.24.2 on: data beside the real file of a linked model is loaded, as caches have it.",
        since=(1, 24, 2),
        policies={"contain.model-link-cache": "accept"},
        sources=(
            *ORT.sources,
            "https://github.com/microsoft/onnxruntime/pull/27374",
            "https://github.com/microsoft/onnxruntime/issues/27353",
        ),
    ),
)
