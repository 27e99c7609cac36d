#!/usr/bin/env python3
"""Has promptcache inside of another project's build, as add_subdirectory() and FetchContent have it.

    subproject.py SOURCE GENERATOR C_COMPILER CXX_COMPILER

Configures a project of three lines around SOURCE and builds nothing: there is the library's target, no
tests, no command and no warnings as errors, and no page of ours comes into the other project's prefix.
"""
import os
import subprocess
import sys
import tempfile

PROJECT = """cmake_minimum_required(VERSION 3.21)
project(outer LANGUAGES C CXX)
add_subdirectory("{source}" promptcache)
if(NOT TARGET promptcache::promptcache OR TARGET promptcache_command OR TARGET pc_test_main OR PC_WERROR)
  message(FATAL_ERROR "a subproject has its library, and nothing beside")
endif()
"""


def run(*command):
    print("+", " ".join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout + f"{command[0]} ended with {done.returncode}")


def main():
    source, generator, c_compiler, cxx_compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        build, prefix = os.path.join(scratch, "build"), os.path.join(scratch, "prefix")
        with open(os.path.join(scratch, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(PROJECT.format(source=source))
        run("cmake", "-S", scratch, "-B", build, "-G", generator, f"-DCMAKE_C_COMPILER={c_compiler}",
            f"-DCMAKE_CXX_COMPILER={cxx_compiler}")
        run("cmake", "--install", build, "--component", "command", "--prefix", prefix)
        found = [os.path.join(path, leaf) for path, _, leaves in os.walk(prefix) for leaf in leaves]
        if found:
            sys.exit(f"installed into another project's prefix: {found[:5]}")


if __name__ == "__main__":
    main()
