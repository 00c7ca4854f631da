# SPDX-License-Identifier: Apache-2.0
#
# Debian's cross compiler for 64-bit Arm, and qemu to run what it builds. Libraries that are headers alone come from the
# machine itself.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)  # Highway asks it what the system has
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
find_program(QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64 REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64} -cpu max -L /usr/aarch64-linux-gnu)
