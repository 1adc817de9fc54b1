/*
 * Error codes. A function that can fail for a reason outside this process returns 0 or a negative
 * ERR_*; a caller must look. Our own bugs are assertions; memory is never a return value (alloc.h).
 */
#ifndef EFFECTD_ERRORS_H
#define EFFECTD_ERRORS_H

#define must_check __attribute__((warn_unused_result))

enum err_index {
#define ERROR(suffix, code, name, again, meaning) ERR_INDEX_##suffix,
#include "errors.def"
#undef ERROR
	ERR_COUNT
};

enum err {
	ERR_NONE = 0,
#define ERROR(suffix, code, name, again, meaning) ERR_##suffix = -1 - ERR_INDEX_##suffix,
#include "errors.def"
#undef ERROR
};

/* JSON-RPC code (-32700 ...), wire name and one-line meaning of a negative ERR_*. */
int err_code(int err);
const char *err_name(int err);
const char *err_meaning(int err);

#endif
