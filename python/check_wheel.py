#!/usr/bin/env python3
"""What must be true of a wheel of the package, of whichever processor.

    check_wheel.py WHEEL

Its name's tags are those inside; each library in it, and the command, is for the tag's processor, has no symbols of a newer glibc than the tag's,
and links nothing but what lies beside it or what every such system has; the package's own files are there.
Prints what is in it, or each sentence that is wrong, with status 1. Needs readelf (binutils), which reads any processor's files.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

TAG = re.compile(r"py3-none-manylinux_(\d+)_(\d+)_(x86_64|aarch64)")
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
# manylinux (PEP 600) promises these, and GCC's at the age that belongs to the glibc.
EVERYWHERE = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|libexpat|ld-linux-[a-z0-9-]+)\.so\.\d+")
COMMAND = "promptcache/bin/promptcache"
WANTED = ("promptcache/__init__.py", "promptcache/_c_api.py", "promptcache/lib/libpromptcache.so.0", "promptcache/py.typed",
          COMMAND, "promptcache/ray/fleet.py", "promptcache/library/__init__.py", "promptcache/program/__init__.py",
          "promptcache/integrations/llm.py")


def readelf(path):
    run = subprocess.run(["readelf", "--wide", "-h", "-d", "-V", path], env={**os.environ, "LC_ALL": "C"},
                         capture_output=True, text=True)
    return run.stdout


def wrong_libraries(libraries, glibc, processor):
    """libraries: {name: path} of the wheel's."""
    for name, path in libraries.items():
        told = readelf(path)
        machine = re.search(r"Machine:\s*(.*)", told)
        if not machine or machine[1].strip() != MACHINES[processor]:
            yield f"{name} is for {machine[1].strip() if machine else 'no processor'}, and the wheel for {processor}"
        for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", told):
            if needed not in libraries and not EVERYWHERE.fullmatch(needed):
                yield f"{name} links {needed}, which is not in the wheel"
        newest = max([tuple(map(int, v)) for v in re.findall(r"\bGLIBC_(\d+)\.(\d+)", told)], default=(0, 0))
        if newest > glibc:
            yield f"{name} has symbols of glibc {newest[0]}.{newest[1]}, and the wheel's tag says {glibc[0]}.{glibc[1]}"


def wrong(wheel):
    """Sentences."""
    tag = TAG.search(wheel.name)
    if not tag:
        return [f"{wheel.name} has no tag py3-none-manylinux_..."]
    with zipfile.ZipFile(wheel) as files, tempfile.TemporaryDirectory() as folder:
        names = files.namelist()
        said = [f"{name} is missing" for name in WANTED if name not in names]
        inside = [files.read(name).decode() for name in names if name.endswith(".dist-info/WHEEL")]
        if not any(re.search(f"^Tag: {tag[0]}$", text, re.M) for text in inside):
            said.append(f"the tag of the name, {tag[0]}, is not the tag in WHEEL")
        libraries = {pathlib.PurePath(n).name: files.extract(n, folder) for n in names if ".so" in n or n == COMMAND}
        return said + list(wrong_libraries(libraries, (int(tag[1]), int(tag[2])), tag[3]))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wheel = pathlib.Path(sys.argv[1])
    said = wrong(wheel)
    if said:
        sys.exit("\n".join(f"check_wheel.py: {sentence}" for sentence in said))
    with zipfile.ZipFile(wheel) as files:
        for entry in sorted(files.infolist(), key=lambda e: -e.compress_size)[:10]:
            print(f"{entry.compress_size / 1e6:8.2f} MB  {entry.filename}")
    print(f"{wheel.stat().st_size / 1e6:8.2f} MB  {wheel.name}")


if __name__ == "__main__":
    main()
