// Where the daemon listens: what the caller said, else $EFFECTD_SOCKET, else the user's own daemon,
// else the system's.

import { lstatSync, statSync } from 'node:fs';

const SYSTEM = '/run/effectd/effectd.sock';
const PATH_BYTES_MAX = 107; // of a Unix socket's address; some versions of Node cut off the rest

function isSocket(path) {
  try {
    return statSync(path).isSocket();
  } catch {
    return false;
  }
}

/** In /tmp anybody may make a folder: only one that is the user's alone counts. */
function isOwn(folder, uid) {
  try {
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

function ofUser(uid) {
  const folder = process.env.XDG_RUNTIME_DIR;
  if (folder?.startsWith('/')) {
    return `${folder}/effectd/effectd.sock`;
  }
  return isOwn(`/tmp/effectd-${uid}`, uid) ? `/tmp/effectd-${uid}/effectd.sock` : undefined;
}

/** The path to connect to. Throws a TypeError if a socket cannot have it. */
export function socketPath(given) {
  let path = given ?? (process.env.EFFECTD_SOCKET || undefined);
  if (path === undefined) {
    const uid = process.geteuid();
    const own = uid === 0 ? undefined : ofUser(uid);
    path = own !== undefined && isSocket(own) ? own : SYSTEM;
  }
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
    throw new TypeError(`the socket's path is longer than ${PATH_BYTES_MAX} bytes: ${path}`);
  }
  return path;
}
