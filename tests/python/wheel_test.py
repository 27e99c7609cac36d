"""python/check_wheel.py tells what is wrong with a wheel."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import check_wheel  # noqa: E402

TAG = "py3-none-manylinux_2_99_" + os.uname().machine
pytestmark = pytest.mark.skipif(
    not shutil.which("readelf") or not shutil.which("cc"), reason="no compiler and no readelf"
)


@pytest.fixture
def library(tmp_path):
    """One that links the C library alone."""
    path = tmp_path / "libsmall.so"
    source = "#include <stdio.h>\nint said(void) { return puts(\"\"); }\n"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=source, text=True, check=True
    )
    return path.read_bytes()


def wheel(folder, library, tag=TAG, inside=TAG, left_out=(), more=()):
    path = folder / f"promptcache-0.1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as files:
        for name in check_wheel.WANTED:
            if name not in left_out:
                is_code = ".so" in name or name == check_wheel.COMMAND
                files.writestr(name, library if is_code else "")
        for name, content in more:
            files.writestr(name, content)
        files.writestr("promptcache-0.1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nTag: {inside}\n")
    return path


def test_a_right_one(tmp_path, library):
    assert check_wheel.wrong(wheel(tmp_path, library)) == []


def test_files_that_are_missing(tmp_path, library):
    lacking = wheel(tmp_path, library, left_out=["promptcache/py.typed"])
    assert check_wheel.wrong(lacking) == ["promptcache/py.typed is missing"]


def test_tags(tmp_path, library):
    assert "has no tag" in check_wheel.wrong(wheel(tmp_path, library, tag="py3-none-linux_x86_64"))[0]
    other = wheel(tmp_path, library, inside="py3-none-linux_x86_64")
    assert "is not the tag in WHEEL" in check_wheel.wrong(other)[0]
    old = TAG.replace("2_99", "2_1")
    both = check_wheel.wrong(wheel(tmp_path, library, tag=old, inside=old))  # and the command
    assert len(both) == 2
    for said in both:
        assert "has symbols of glibc 2." in said and said.endswith("the wheel's tag says 2.1")


def test_another_processor(tmp_path, library):
    other = TAG.replace(os.uname().machine, "aarch64" if os.uname().machine == "x86_64" else "x86_64")
    said = check_wheel.wrong(wheel(tmp_path, library, tag=other, inside=other))
    assert any(sentence.startswith("libpromptcache.so.0 is for ") for sentence in said)
    assert any(sentence.startswith("promptcache is for ") for sentence in said)
    torn = wheel(tmp_path, library, more=[("promptcache.libs/libtorn.so.1", b"no library")])
    assert "libtorn.so.1 is for no processor" in check_wheel.wrong(torn)[0]


def test_what_it_links_is_in_it(tmp_path):
    linking = pathlib.Path(os.environ["PROMPTCACHE_LIBRARY"]).read_bytes()
    said = check_wheel.wrong(wheel(tmp_path, linking))
    assert any("links libxxhash.so.0, which is not in the wheel" in sentence for sentence in said)
    assert not any("libstdc++" in sentence for sentence in said)
