"""Runs a command with addresses that are not random: `without_aslr.py COMMAND ARGUMENT...`."""
import ctypes
import os
import sys

ADDR_NO_RANDOMIZE = 0x0040000
libc = ctypes.CDLL(None, use_errno=True)
# Where a container forbids it, the command runs with random addresses again, which is a layout of its own too.
libc.personality(ctypes.c_ulong(ADDR_NO_RANDOMIZE))
os.execvp(sys.argv[1], sys.argv[1:])
