"""Rules: X4 X7
Attack: makes forbidden calls with the interpreter's library.
Each: socket execve ptrace unshare mount
Expect: forbidden_syscall $1 | signalled SIGSYS
Limits: memory_bytes=128MiB
"""

import ctypes
import os
import socket
import sys

print("started", flush=True)
libc = ctypes.CDLL(None, use_errno=True)
match sys.argv[1]:
    case "socket":
        socket.create_connection(("127.0.0.1", 80))
    case "execve":
        os.system("id")
    case "ptrace":
        libc.ptrace(16, 1, 0, 0)
    case "unshare":
        libc.unshare(0x10000000)
    case "mount":
        libc.mount(b"none", b"/work", b"tmpfs", 0, None)
print("got through:", os.strerror(ctypes.get_errno()))
sys.exit(1)
