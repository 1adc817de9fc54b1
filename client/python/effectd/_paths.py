"""Where the daemon's socket is, found as effectctl finds it.

In this order: what the caller named, $EFFECTD_SOCKET, the socket of this user's own daemon if there
is one, the system's. The folder in /tmp counts only if nobody else can have made it.
"""
from __future__ import annotations

import os
import stat
from typing import Optional, Union

SYSTEM = '/run/effectd/effectd.sock'
PATH_BYTES_MAX = 107


def find_socket(named: Optional[Union[str, os.PathLike[str]]] = None) -> str:
    """The socket's path. Raises ValueError if it is longer than a Unix socket's may be."""
    path = (
        os.fspath(named)
        if named is not None
        else os.environ.get('EFFECTD_SOCKET') or _of_user() or SYSTEM
    )
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        raise ValueError(f'the path of a Unix socket ends at {PATH_BYTES_MAX} bytes: "{path}"')
    return path


def _of_user() -> Optional[str]:
    uid = os.geteuid()
    if uid == 0:
        return None
    runtime = os.environ.get('XDG_RUNTIME_DIR', '')
    folder = os.path.join(runtime, 'effectd') if runtime.startswith('/') else f'/tmp/effectd-{uid}'
    path = os.path.join(folder, 'effectd.sock')
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return None
        if not runtime.startswith('/'):
            made = os.lstat(folder)
            if not stat.S_ISDIR(made.st_mode) or made.st_uid != uid or made.st_mode & 0o077:
                return None
    except OSError:
        return None
    return path
