/*
 * Every fixed limit of the wire and of the types, in one place, with its unit last.
 * Configurable limits (max_line, max_inflight, ...) live in config.c with their defaults; what
 * stands here is part of the protocol (daemon/protocol.md) and may only ever grow.
 */
#ifndef EFFECTD_LIMITS_H
#define EFFECTD_LIMITS_H

#define JSON_DEPTH_MAX 64 /* nesting of arrays and objects outside `result` */
#define KEY_BYTES_MAX 255 /* a key, given or derived */
#define KEY_CUT_BYTES 180 /* what a longer derived key keeps before '#' and its SHA-256 */
#define NAMESPACE_BYTES_MAX 63
#define TOOL_BYTES_MAX 128
#define LABEL_BYTES_MAX 255 /* run, step, turn, call, owner, request ids of JSON-RPC */
#define REASON_BYTES_MAX 1000
#define LEASE_MS_MIN 1000
#define LEASE_MS_MAX 3600000
#define WAIT_MS_MAX 60000
#define DEADLINE_MS_MAX 120000
#define EVENTS_MAX 1000
#define LIST_ROWS_MAX 1000
#define PROBE_OUTPUT_BYTES_MAX 65536
#define EXECUTE_RESULT_BYTES_MAX 1048576
#define DURATION_DAYS_MAX 3650
#define SOCKET_PATH_BYTES_MAX 107

#endif
