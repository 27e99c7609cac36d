#!/usr/bin/env python3
"""Programs that were linked with an older library go on working with this one.

    abi.py check ROOT C_COMPILER       promptcache.h against the committed dump
    abi.py dump ROOT C_COMPILER        renews the dump (scripts/abi-dump)
    abi.py self-test ROOT C_COMPILER   plants changes of every kind in a small header, and a
                                       removed function in our own, and fails unless abidiff
                                       reports those that break programs, and no other

The dump, tests/structure/promptcache.abi, is what abidw reads from the debug information of a
shared object: symbols with their versions, signatures, structs, enumerators. That object is not
the library but the header, in which each declaration is given an empty body: the library's
sources include the same header, so that no signature can differ, symbols.py holds its symbols
against it, and neither compiler, optimisation nor a type of ours that is no user's shows.
x86-64 alone.

What may change: functions and enumerators may be added, and fields at the end of a struct that
begins with struct_size, of which an old program tells how much it knows. So such a struct is
compared as far as the dump has it.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

DUMP, HEADER, VERSIONS = "tests/structure/promptcache.abi", "include/promptcache/promptcache.h", "cmake/promptcache.map"
# In the place of the system's headers, whose other types change with the C library.
TYPES = "typedef __SIZE_TYPE__ size_t;\n" + "".join(
    f"typedef __{sign.upper()}INT{bits}_TYPE__ {sign}int{bits}_t;\n" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLAGS = ("-std=c99 -w -O0 -g -gdwarf-4 -fno-eliminate-unused-debug-types -fPIC -shared -nostdlib").split()
QUIET = "--no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed --no-parameter-names --type-id-style hash"
BREAKS = 8  # of abidiff's exit status: incompatible without a doubt
FIRST_FIELD = "struct_size"

SMALL = """
enum { PC_OK = 0, PC_BAD = 1 };
typedef struct pc_thing pc_thing;
typedef struct pc_place { int line; char message[8]; } pc_place;
typedef int (*pc_progress)(void* user, uint32_t done);
typedef struct pc_options {
  size_t struct_size;
  const char* path;
  uint32_t mode;
  uint32_t kind;
  pc_progress progress;
} pc_options;
PC_API int pc_open(const pc_options* options, pc_thing** thing,
                   pc_place* place);
PC_API void pc_close(pc_thing* thing);
"""
BREAKING = {  # what is changed into what
    "a function less": ("PC_API void pc_close(pc_thing* thing);", ""),
    "a parameter's type": ("pc_close(pc_thing* thing)", "pc_close(pc_thing* thing, int how)"),
    "a result": ("PC_API void pc_close", "PC_API int pc_close"),
    "a callback's parameter": ("uint32_t done", "uint64_t done"),
    "an enumerator's value": ("PC_BAD = 1", "PC_BAD = 2"),
    "an enumerator less": (", PC_BAD = 1", ""),
    "a field in the middle": ("uint32_t mode;", "uint64_t more; uint32_t mode;"),
    "a field's type": ("uint32_t kind;", "float kind;"),
    "a wider field": ("uint32_t kind;", "uint64_t kind;"),
    "fields in another order": ("uint32_t mode;\n  uint32_t kind;", "uint32_t kind;\n  uint32_t mode;"),
    "the last field less": ("  pc_progress progress;\n", ""),
    "a field behind one of another type": ("uint32_t kind;\n  pc_progress progress;",
                                           "float kind;\n  pc_progress progress;\n  int more;"),
    "a longer struct without struct_size": ("char message[8];", "char message[8]; int more;"),
    "a shorter array": ("message[8]", "message[4]"),
}
HARMLESS = {
    "nothing": ("", ""),
    "a function more": ("PC_API void", "PC_API int pc_more(pc_thing* thing);\nPC_API void"),
    "a field at the end": ("progress;\n}", "progress;\n  uint64_t more;\n  pc_progress last;\n}"),
    "an enumerator more": ("PC_BAD = 1", "PC_BAD = 1, PC_WORSE = 2"),
    "a struct more": ("PC_API void",
                      "typedef struct pc_new { int x; } pc_new;\nPC_API int pc_more(pc_new n);\nPC_API void"),
    "an enum more in front": ("enum {", "enum { PC_NEW = 7 };\nenum {"),
    "an enum more behind": ("PC_API int", "enum { PC_NEW = 7 };\nPC_API int"),
    "another name of a parameter": ("pc_close(pc_thing* thing)", "pc_close(pc_thing* it)"),
}


def run(*command, may_fail=False):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode and not may_fail:
        sys.exit(f"{' '.join(command)}\n{done.stdout}")
    return done


def read(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


class Compiler:
    """Makes shared objects of headers, in a scratch folder."""

    def __init__(self, root, command, scratch):
        self.flags = [command, *FLAGS, f"-Wl,--version-script={os.path.join(root, VERSIONS)}"]
        self.scratch = scratch

    def library(self, header):
        source, library = (os.path.join(self.scratch, name) for name in ("face.c", "face.so"))
        bodies = re.sub(r"^(PC_API\s[^;{]*\))\s*;", r"\1 { __builtin_trap(); }", header, flags=re.M)
        with open(source, "w", encoding="utf-8") as file:
            file.write("#define PC_API\n" + TYPES + re.sub(r"^#\s*include.*", "", bodies, flags=re.M))
        run(*self.flags, source, "-o", library)
        return library

    def dump(self, header, path):
        run("abidw", "--load-all-types", *QUIET.split(), "--out-file", path, self.library(header))


def last_fields(dump):
    """The structs that begin with struct_size -> the last field that the dump has of each."""
    for struct in xml.etree.ElementTree.parse(dump).iter("class-decl"):
        fields = [field.get("name") for field in struct.iterfind("data-member/var-decl")]
        if fields and fields[0] == FIRST_FIELD:
            yield struct.get("name"), fields[-1]


def as_known_to(dump, header):
    """The header, with the structs that may grow as long as they are in the dump."""
    for name, last in last_fields(dump):
        known = re.compile(r"(struct %s \{[^}]*?\b%s(\[\w*\])?;)[^}]*\}" % (name, last))
        header = known.sub(r"\1 }", header)  # where the field is gone, abidiff says so
    return header


def differences(compiler, dump, header):
    """What breaks programs, in abidiff's words; empty: nothing."""
    library = compiler.library(as_known_to(dump, header))
    reached = run("abidiff", "--no-show-locs", "--no-added-syms", dump, library, may_fail=True)
    # Enumerators that no signature names; and with them types that were merely added.
    all_types = run("abidiff", "--no-show-locs", "--non-reachable-types", dump, library, may_fail=True)
    found = reached.stdout if reached.returncode else ""
    return found + (all_types.stdout if all_types.returncode & BREAKS else "")


def check(compiler, root):
    found = differences(compiler, os.path.join(root, DUMP), read(os.path.join(root, HEADER)))
    return found + ("\nPrograms that are linked with what the dump describes would break. If that is meant: "
                    "CONTRIBUTING.md, \"What programs rely on\".\n" if found else "")


def self_test(compiler, root, scratch):
    small, wrong = os.path.join(scratch, "small.abi"), ""
    compiler.dump(SMALL, small)
    for expected, cases in ((True, BREAKING), (False, HARMLESS)):
        for name, (old, new) in cases.items():
            assert old in SMALL, name
            found = differences(compiler, small, SMALL.replace(old, new, 1))
            if bool(found) != expected:
                wrong += f"{name}: {'reported' if found else 'not reported'}\n{found}"
    without = read(os.path.join(root, HEADER)).replace("PC_API void pc_free(void* memory);", "")
    found = differences(compiler, os.path.join(root, DUMP), without)
    return wrong + ("" if "pc_free" in found else f"pc_free is gone from {HEADER}, and that is not reported\n{found}")


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("check", "dump", "self-test"):
        sys.exit(__doc__)
    rule, root, command = sys.argv[1:]
    missing = [tool for tool in ("abidw", "abidiff") if not shutil.which(tool)]
    if missing:
        return print(f"SKIPPED: {missing[0]} is not installed (Debian's package abigail-tools)")
    with tempfile.TemporaryDirectory() as scratch:
        compiler = Compiler(root, command, scratch)
        if rule == "dump":
            return compiler.dump(read(os.path.join(root, HEADER)), os.path.join(root, DUMP))
        found = check(compiler, root) if rule == "check" else self_test(compiler, root, scratch)
    if found:
        sys.exit(found)
    print("nothing to report")


if __name__ == "__main__":
    main()
