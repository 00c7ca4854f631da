# SPDX-License-Identifier: Apache-2.0
"""Finds functions that move vectors of 32 or 64 bytes to or from a stack that they have not aligned, by instructions
that fault where it is not."""
import re
import subprocess

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
MOVE = re.compile(r"\tv?mov\w+ .*%[yz]mm")
# Moves that fault at an address that is no multiple of their size, and the registers of the stack in their addresses.
ALIGNED = re.compile(r"\tv(?:movap[sd]|movdqa(?:32|64)?|movntdqa?|movntp[sd]) +[^#]*%[yz]mm[^#]*")
ON_STACK = re.compile(r"\(%r(sp|bp)[,)]")
# Masks that leave multiples of 32, 64 and 128.
ALIGNS_STACK = re.compile(r"\tand +\$0xf+(e0|c0|80),%rsp")
BYTES = {"e0": 32, "c0": 64, "80": 128}
HAS_FRAME = re.compile(r"\t(?:mov +%rsp,%rbp|lea +[-0-9a-fx]+\(%rsp\),%rbp)")


def faults_in(listing):
    """The number of moves of vectors that objdump lists, and the functions with a fault."""
    name, moves, faults = None, 0, []
    has_frame, aligned_to = False, 16
    for line in listing.split("\n"):
        if found := FUNCTION.match(line):
            name, has_frame, aligned_to = found[1], False, 16
        has_frame = has_frame or bool(HAS_FRAME.search(line))
        if found := ALIGNS_STACK.search(line):
            aligned_to = BYTES[found[1]]
        moves += bool(MOVE.search(line))
        register = ON_STACK.search(line) if ALIGNED.search(line) else None
        needed = 64 if "%zmm" in line else 32
        if register and aligned_to < needed and (register[1] == "sp" or has_frame) and (not faults or faults[-1] != name):
            faults.append(name)
    return moves, faults


def faults_of(object_file, objdump):
    listing = subprocess.run([objdump, "-d", "--no-show-raw-insn", object_file], capture_output=True, text=True, check=True)
    return faults_in(listing.stdout)


# A function with the fault, one that aligns its stack, one that moves what only looks like the stack.
SAMPLE = """
faulty:
  sub $72, %rsp
  vmovaps %ymm0, 32(%rsp)
  ret
aligned:
  push %rbp
  mov %rsp, %rbp
  and $-32, %rsp
  vmovdqa %ymm0, (%rsp)
  ret
other:
  vmovaps %ymm0, (%rbp)
  ret
"""


def check_itself(folder, objdump):
    """The fault is found where it is, alone, and is gone where the assembler is told to make no aligned moves."""
    source, made = folder / "sample.s", folder / "sample.o"
    source.write_text(SAMPLE)
    assembler = objdump.removesuffix("objdump") + "as"
    for options, expected in {(): ["faulty"], ("-muse-unaligned-vector-move",): []}.items():
        subprocess.run([assembler, *options, source, "-o", made], check=True)
        found = faults_of(made, objdump)[1]
        if found != expected:
            raise RuntimeError(f"the check of stacks finds {found} in its sample, expected {expected}")
