"""Lets the n-th call of a kind fail inside a running effectd, whoever makes it: ours, libpq, libevent, cJSON.

    nth = Nth()
    with Daemon(cluster, env=nth.env) as daemon:
        nth.arm('alloc', 17)            # from now on the 17th allocation fails
        ...
        nth.disarm()                    # (calls seen, failures): (200, 1) or (12, 0)

Kinds: alloc; read and write (pipes, the log); recv and send (sockets); open (socket, accept, pipe, a new process);
watch (a descriptor for the loop).
"""
import errno
import mmap
import os
import struct
import subprocess

from harness import SRC, bail_out, folder

KINDS = {'alloc': 1, 'read': 2, 'write': 3, 'recv': 4, 'send': 5, 'open': 6, 'watch': 7}
PAGE = '<5q'  # struct control of nth.c


class Nth:
    def __init__(self):
        self.dir = folder()
        library, page = os.path.join(self.dir, 'nth.so'), os.path.join(self.dir, 'page')
        built = subprocess.run([os.environ.get('CC', 'cc'), '-std=c11', '-O1', '-fno-omit-frame-pointer', '-shared', '-fPIC', '-o', library,
                                os.path.join(SRC, 'tests/fault/nth.c')], capture_output=True, text=True, check=False)
        if built.returncode:
            bail_out(f'nth.c cannot be built: {built.stderr}')
        with open(page, 'w+b') as file:
            file.write(bytes(mmap.PAGESIZE))
            file.flush()
            self.page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.env = {'LD_PRELOAD': library, 'EFFECTD_NTH': page,
                    # the sanitizer would rather be loaded first
                    'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'}

    def arm(self, kind, nth, error=errno.ENOMEM):
        self.page[:struct.calcsize(PAGE)] = struct.pack(PAGE, 0, nth, error, 0, 0)
        self.page[:8] = struct.pack('<q', KINDS[kind])

    def disarm(self):
        self.page[:8] = bytes(8)
        return self.so_far()

    def so_far(self):
        """(calls of the kind since it was armed, how many of them failed)"""
        return struct.unpack(PAGE, self.page[:struct.calcsize(PAGE)])[3:]
