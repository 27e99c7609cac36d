"""Writes the Python description of the C API, out of its header: make_bindings.py HEADER OUT.

OUT is a module with cffi's tables of every type and function in HEADER (out-of-line, ABI mode: no
compiler runs on the user's machine, and one file serves every version of Python). Whoever builds
the package runs this, so that the two cannot drift apart.
"""
import re
import sys

import cffi

# #define NAME NUMBER; SIZE_MAX and UINT64_MAX are no numbers to cffi.
MACRO = re.compile(r"^#define (PC_\w+) (\S+)$", re.M)
LIMITS = {"SIZE_MAX": str(2**64 - 1), "UINT64_MAX": str(2**64 - 1)}


def declarations(header):
    """The header's C without comments, directives and what is there for compilers."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    numbers = [(name, LIMITS.get(value, value)) for name, value in MACRO.findall(text)]
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    text = re.sub(r"^#.*$", "", text, flags=re.M).replace("PC_API ", "")
    constants = [f"#define {name} {value}" for name, value in numbers if value.isdigit()]
    return "\n".join(constants) + "\n" + text


def main(header, out):
    ffi = cffi.FFI()
    with open(header, encoding="utf-8") as file:
        ffi.cdef(declarations(file.read()))
    ffi.set_source("promptcache._c_api", None)
    ffi.emit_python_code(out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
