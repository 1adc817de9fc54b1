/*
 * Sorting more than fits in memory: records of bytes, in the order of what they begin with. Sorted
 * runs go to temporary files without a name in $TMPDIR and are merged as they are read, so that
 * neither memory nor time depend on anything but what is given. Nothing of it is left behind,
 * however the process ends.
 */
#ifndef EFFECTD_EXTSORT_H
#define EFFECTD_EXTSORT_H

#include <stdbool.h>
#include <stddef.h>

#define EXTSORT_RECORD_BYTES_MAX (1U << 20)

struct extsort;

/*
 * Records are compared by their first key_bytes, as memcmp() does; those that are equal in them
 * come in any order. memory_bytes bounds what is held while adding and, again, while reading.
 */
struct extsort *extsort_new(size_t key_bytes, size_t memory_bytes);
void extsort_free(struct extsort *sort); /* NULL is fine */

/* Copies record[0, len), key_bytes to EXTSORT_RECORD_BYTES_MAX of it. False: extsort_why(). */
bool extsort_add(struct extsort *sort, const void *record, size_t len);
/* No more is added; reading may begin. False: extsort_why(). */
bool extsort_end(struct extsort *sort);
/*
 * The next record in order, valid until the next call; NULL: there is none, or, if extsort_why() is
 * not NULL, it could not be read.
 */
const void *extsort_next(struct extsort *sort, size_t *ret_len);
/* What failed, in one line: a disk that is full, a folder that cannot be written. NULL: nothing. */
const char *extsort_why(const struct extsort *sort);

#endif
