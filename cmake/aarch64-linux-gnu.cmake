# Cross-building for 64-bit Arm with Debian's compiler, against the folder of arm64
# packages that PC_SYSROOT names. What is built runs under qemu-user, whose CPU
# is the environment's QEMU_CPU. See scripts/test-arm64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PC_SYSROOT)
set(CMAKE_SYSROOT ${PC_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${PC_SYSROOT})

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
if(NOT CMAKE_FIND_ROOT_PATH_MODE_PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
endif()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PC_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${PC_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${PC_SYSROOT}/usr/share/pkgconfig)
