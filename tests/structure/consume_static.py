#!/usr/bin/env python3
"""Uses the installed libpromptcache.a as a stranger would.

    consume_static.py BUILD SOURCE GENERATOR C_COMPILER

As consume.py: builds examples/hello.c with promptcache::promptcache_static, and through
pkg-config's promptcache-static with a program's own code that has our names, and runs both,
which do not know of the shared library.
"""
import os
import sys
import tempfile

from consume import STRICT, check, install, pkg_config, run, try_hello

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(stranger LANGUAGES C)
find_package(promptcache REQUIRED COMPONENTS static)
add_executable(hello {hello})
target_link_libraries(hello PRIVATE promptcache::promptcache_static)
"""
# Symbols of the program that the library has, too, under the same names.
NAMESAKES = """
namespace pc {
class Sha256 { public: Sha256(); ~Sha256(); };
Sha256::Sha256() {}
Sha256::~Sha256() {}
}
"""


def stands_alone(program):
    check("libpromptcache" not in run("readelf", "--dynamic", program), f"{program} needs the shared library")


def through_cmake(prefix, hello, generator, compiler, scratch):
    project = os.path.join(scratch, "project")
    os.mkdir(project)
    with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(PROJECT.format(hello=hello))
    consumer = os.path.join(scratch, "consumer")
    run("cmake", "-S", project, "-B", consumer, "-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={compiler}", f"-DCMAKE_C_FLAGS={STRICT}")
    run("cmake", "--build", consumer)
    return os.path.join(consumer, "hello")


def through_pkg_config(prefix, hello, compiler, scratch):
    namesakes, program = (os.path.join(scratch, name) for name in ("namesakes.cc", "hello"))
    with open(namesakes, "w", encoding="utf-8") as file:
        file.write(NAMESAKES)
    run(compiler, "-c", namesakes, "-o", namesakes + ".o")
    run(compiler, *STRICT.split(), hello, namesakes + ".o", *pkg_config(prefix, "promptcache-static"), "-o", program)
    return program


def main():
    build, source, generator, compiler = sys.argv[1:]
    hello = os.path.join(source, "examples/hello.c")
    with tempfile.TemporaryDirectory() as scratch:
        prefix = install(build, scratch)
        for program in (through_cmake(prefix, hello, generator, compiler, scratch),
                        through_pkg_config(prefix, hello, compiler, scratch)):
            stands_alone(program)
            try_hello([program], source, scratch)


if __name__ == "__main__":
    main()
