#!/usr/bin/env python3
"""Every field of an option struct is one that the library reads.

    option_fields.py ROOT          compares promptcache.h with runtime/api/c_api_fields.h
    option_fields.py --self-test   takes a field out and fails unless that is reported

A field that lies where a struct had padding does not change the struct's size, so no compiler says that
it is missing in the list of where fields end: it would be cut off, and never be read.
"""
import re
import sys
from pathlib import Path

HEADER, FIELDS = "include/promptcache/promptcache.h", "runtime/api/c_api_fields.h"


def declared(header):
    """struct -> its fields behind struct_size"""
    structs = {}
    for body, name in re.findall(r"typedef struct \w+ \{\n((?:(?!\n\}).)*)\n\} (pc_\w+_options);", header, re.S):
        code = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        fields = [word for line in code.split(";") for word in re.findall(r"(\w+)\s*(?:,|$)", line.strip())]
        structs[name] = [field for field in fields if field != "struct_size"]
    return structs


def listed(source):
    return {name: re.findall(r"PC_END\((\w+)\)", body)
            for name, body in re.findall(r"using T = (pc_\w+_options);(.*?)\}\n", source, re.S)}


def problems(header, source):
    there, known = declared(header), listed(source)
    if set(there) != set(known):
        return [f"structs that only one of both has: {sorted(set(there) ^ set(known))}"]
    return [f"{name}: {HEADER} has {there[name]}, {FIELDS} has {known[name]}"
            for name in there if there[name] != known[name]]


def main():
    root = Path(__file__).parent.parent.parent if sys.argv[1] == "--self-test" else Path(sys.argv[1])
    header, source = (root / HEADER).read_text(), (root / FIELDS).read_text()
    if sys.argv[1] == "--self-test":
        assert not problems(header, source)
        for field in ("PC_END(moves)", "PC_END(model_path),"):
            assert problems(header, source.replace(field, "")), field
        return 0
    found = problems(header, source)
    print("\n".join(found) or f"{len(declared(header))} structs, all fields are read")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
