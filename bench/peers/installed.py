"""Which peers scripts/peers installs, how each is built for a CPU, and where it lies afterwards.

A folder has one folder for each build: made.json, which names the version, how it was built and the
programs; or, in its place, why.txt, which says why there is none.
"""

import json
import os
import re
from pathlib import Path

LLAMA_CPP, LLAMA_CPP_AVX2, IK, OPENVINO = "llama.cpp", "llama.cpp-avx2", "ik_llama.cpp", "OpenVINO"
PROGRAMS = {LLAMA_CPP: ("llama-bench", "llama-server", "llama-batched-bench"),
            LLAMA_CPP_AVX2: ("llama-bench", "llama-server"), IK: ("llama-bench",)}
# What a build of ggml is told, so that an emulator that knows AVX2 at most can run it.
AVX2 = {"GGML_NATIVE": "OFF", **{f"GGML_{name}": "ON" for name in ("AVX", "AVX2", "FMA", "F16C", "BMI2")}}
# Clang takes the CPU by -mcpu, and ggml's switches add the instructions of tiles. Its OpenMP is not in
# the package, and its C++ library is linked into each program: static, so that there is one of it.
TILES = {"GGML_NATIVE": "OFF", "GGML_OPENMP": "OFF", "BUILD_SHARED_LIBS": "OFF",
         "CMAKE_C_FLAGS": "-mcpu=sapphirerapids", "CMAKE_CXX_FLAGS": "-mcpu=sapphirerapids",
         **{f"GGML_{name}": "ON" for name in (
             "AVX", "AVX2", "FMA", "F16C", "BMI2", "AVX512", "AVX512_VBMI", "AVX512_VNNI",
             "AVX512_BF16", "AMX_TILE", "AMX_INT8", "AMX_BF16")}}


def cache_folder():
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return Path(cache) if cache.startswith("/") else Path.home() / ".cache"


def default_folder():
    return Path(os.environ.get("PC_PEERS") or cache_folder() / "promptcache-peers")


def flags_of(cpuinfo):
    """The CPU's features, by the text of /proc/cpuinfo."""
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", cpuinfo, re.M)
    return frozenset(found.group(1).split()) if found else frozenset()


def has_tiles(flags):
    return {"amx_tile", "amx_int8", "amx_bf16"} <= flags


def options_of(peer, flags):
    """CMake's definitions for a CPU with these features; with TILES, Clang is the compiler."""
    always = {"CMAKE_BUILD_TYPE": "Release", "LLAMA_CURL": "OFF", "LLAMA_BUILD_TESTS": "OFF"}
    if peer == LLAMA_CPP:
        return {**always, "LLAMA_OPENSSL": "OFF", **(TILES if has_tiles(flags) else {"GGML_NATIVE": "ON"})}
    if peer == LLAMA_CPP_AVX2:
        return {**always, "LLAMA_OPENSSL": "OFF", **AVX2}
    return {**always, "GGML_NATIVE": "ON"}


def made(folder, peer):
    """What made.json of a peer says, its programs as paths; None where it is not installed."""
    try:
        facts = json.loads((Path(folder) / peer / "made.json").read_text())
    except FileNotFoundError:
        return None
    facts["programs"] = {name: str(Path(folder) / peer / path) for name, path in facts["programs"].items()}
    return facts


def why_not(folder, peer):
    """One sentence: why the peer is not there."""
    try:
        return (Path(folder) / peer / "why.txt").read_text().strip()
    except FileNotFoundError:
        return f"scripts/peers has not installed it in {folder}"


def line_of(peer, facts):
    """As a page names it: llama.cpp b11434, GNU 12, AVX-512."""
    return f"{peer} {facts['version']} ({facts['how']})"
