/*
 * The external sort. Promise: memory stays within what was given (and one record); a failure of the
 * disk is told and nothing is made up in its place. What records mean does not belong here. The
 * sort owns its arena, its buffers and its files.
 */
#include "extsort.h"

#include "alloc.h"
#include "tempfile.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES_MIN 16384 /* of a run that is read; a quarter of a seek is worth as much */
#define ARENA_BYTES_FIRST 65536
#define LEN_BYTES sizeof(uint32_t)

/* A sorted stretch of the file, and what of it is in memory. */
struct run {
	off_t at, end;		 /* of what is still to be read from the file */
	unsigned char *buffer;	 /* while it is merged */
	size_t n_bytes, n_taken; /* in buffer */
	size_t record_len;	 /* of the record at n_taken; 0 = the run is over */
};

/* Runs that are read together, the one with the least record on top. */
struct merge {
	struct run *runs; /* a stretch of the sort's */
	size_t *heap;	  /* indices into runs */
	size_t n;	  /* in heap */
	size_t buffer_bytes;
	bool taken; /* the top's record was handed out */
	int fd;
};

struct extsort {
	size_t key_bytes, memory_bytes;
	unsigned char *arena; /* records, each behind its length */
	size_t arena_len, arena_cap;
	uint32_t *index; /* where they begin */
	size_t n_index, index_cap, n_read;
	int fd; /* of the runs; -1 = none was written */
	off_t file_len;
	struct run *runs;
	size_t n_runs, runs_cap;
	struct merge merge;
	bool ended;
	char *why;
};

struct extsort *
extsort_new(size_t key_bytes, size_t memory_bytes)
{
	struct extsort *sort = xcalloc(1, sizeof *sort);

	assert(key_bytes > 0 && memory_bytes < UINT32_MAX);
	sort->key_bytes = key_bytes;
	sort->memory_bytes = memory_bytes;
	sort->fd = -1;
	return sort;
}

static void
merge_end(struct merge *merge, size_t n_runs)
{
	for (size_t i = 0; merge->runs && i < n_runs; i++) {
		free(merge->runs[i].buffer);
		merge->runs[i].buffer = NULL;
	}
	free(merge->heap);
	*merge = (struct merge){.fd = -1};
}

static void
free_arena(struct extsort *sort)
{
	free(sort->arena);
	free(sort->index);
	sort->arena = NULL;
	sort->index = NULL;
	sort->arena_len = sort->arena_cap = sort->n_index = sort->index_cap = 0;
}

void
extsort_free(struct extsort *sort)
{
	if (!sort)
		return;
	merge_end(&sort->merge, sort->n_runs);
	free_arena(sort);
	free(sort->runs);
	if (sort->fd >= 0)
		close(sort->fd);
	free(sort->why);
	free(sort);
}

const char *
extsort_why(const struct extsort *sort)
{
	return sort->why;
}

/* Always false. */
static bool
fail(struct extsort *sort, const char *what, int err)
{
	if (!sort->why)
		sort->why = xasprintf("cannot %s a temporary file in \"%s\": %s", what,
		    tempfile_folder(), strerror(err));
	return false;
}

/* ---- adding ---- */

static int
compare(const void *a, const void *b, void *arg)
{
	const struct extsort *sort = arg;

	return memcmp(sort->arena + *(const uint32_t *)a + LEN_BYTES,
	    sort->arena + *(const uint32_t *)b + LEN_BYTES, sort->key_bytes);
}

static uint32_t
record_len(const unsigned char *at)
{
	uint32_t len;

	memcpy(&len, at, sizeof len);
	return len;
}

static void
add_run(struct extsort *sort, off_t at, off_t end)
{
	if (sort->n_runs == sort->runs_cap) {
		sort->runs_cap = sort->runs_cap ? 2 * sort->runs_cap : 16;
		sort->runs = xrealloc(sort->runs, sort->runs_cap * sizeof *sort->runs);
	}
	sort->runs[sort->n_runs++] = (struct run){.at = at, .end = end};
}

/* Sorts the arena and writes it out as a run. */
static bool
spill(struct extsort *sort)
{
	struct tempfile_writer writer;
	off_t at = sort->file_len;
	const unsigned char *record;

	if (sort->fd < 0 && (sort->fd = tempfile_open()) < 0)
		return fail(sort, "make", errno);
	qsort_r(sort->index, sort->n_index, sizeof *sort->index, compare, sort);
	tempfile_writer_init(&writer, sort->fd, at);
	for (size_t i = 0; i < sort->n_index; i++) {
		record = sort->arena + sort->index[i];
		if (!tempfile_write(&writer, record, LEN_BYTES + record_len(record)))
			return fail(sort, "write to", errno);
	}
	if (!tempfile_flush(&writer))
		return fail(sort, "write to", errno);
	sort->file_len = writer.at;
	add_run(sort, at, writer.at);
	sort->arena_len = sort->n_index = 0;
	return true;
}

static void
grow(struct extsort *sort, size_t len)
{
	while (sort->arena_len + len > sort->arena_cap) {
		sort->arena_cap = sort->arena_cap ? 2 * sort->arena_cap : ARENA_BYTES_FIRST;
		if (sort->arena_cap > sort->memory_bytes &&
		    sort->arena_len + len <= sort->memory_bytes)
			sort->arena_cap = sort->memory_bytes;
		sort->arena = xrealloc(sort->arena, sort->arena_cap);
	}
	if (sort->n_index == sort->index_cap) {
		sort->index_cap = sort->index_cap ? 2 * sort->index_cap : 1024;
		sort->index = xrealloc(sort->index, sort->index_cap * sizeof *sort->index);
	}
}

bool
extsort_add(struct extsort *sort, const void *record, size_t len)
{
	uint32_t length = (uint32_t)len;
	/* the index, and what qsort_r() takes beside it */
	size_t held = sort->arena_len + 3 * sort->n_index * sizeof *sort->index;

	assert(!sort->ended && len >= sort->key_bytes && len <= EXTSORT_RECORD_BYTES_MAX);
	if (sort->why)
		return false;
	if (sort->n_index > 0 && held + LEN_BYTES + len > sort->memory_bytes && !spill(sort))
		return false;
	grow(sort, LEN_BYTES + len);
	sort->index[sort->n_index++] = (uint32_t)sort->arena_len;
	memcpy(sort->arena + sort->arena_len, &length, LEN_BYTES);
	memcpy(sort->arena + sort->arena_len + LEN_BYTES, record, len);
	sort->arena_len += LEN_BYTES + len;
	return true;
}

/* ---- merging ---- */

/* Has the record at n_taken whole in the buffer, and its length in record_len. */
static bool
load(struct extsort *sort, struct merge *merge, struct run *run)
{
	size_t n_left = run->n_bytes - run->n_taken, wanted;
	ssize_t n;

	run->record_len = 0;
	while (n_left < LEN_BYTES || n_left < LEN_BYTES + record_len(run->buffer + run->n_taken)) {
		if (run->at == run->end)
			return n_left == 0 || fail(sort, "read", EIO);
		memmove(run->buffer, run->buffer + run->n_taken, n_left);
		run->n_taken = 0;
		run->n_bytes = n_left;
		wanted = merge->buffer_bytes;
		if (n_left >= LEN_BYTES && LEN_BYTES + record_len(run->buffer) > wanted) {
			/* a record longer than our share: it has to be whole all the same */
			wanted = LEN_BYTES + record_len(run->buffer);
			if (wanted > LEN_BYTES + EXTSORT_RECORD_BYTES_MAX)
				return fail(sort, "read", EIO);
			run->buffer = xrealloc(run->buffer, wanted);
		}
		wanted -= n_left;
		if ((off_t)wanted > run->end - run->at)
			wanted = (size_t)(run->end - run->at);
		n = pread(merge->fd, run->buffer + n_left, wanted, run->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(sort, "read", n < 0 ? errno : EIO);
		run->at += n;
		run->n_bytes += (size_t)n;
		n_left += (size_t)n;
	}
	run->record_len = record_len(run->buffer + run->n_taken);
	return true;
}

static const unsigned char *
top_of(const struct merge *merge, size_t at)
{
	const struct run *run = &merge->runs[merge->heap[at]];

	return run->buffer + run->n_taken + LEN_BYTES;
}

static void
sift_down(const struct extsort *sort, struct merge *merge, size_t at)
{
	size_t child, other;

	while ((child = 2 * at + 1) < merge->n) {
		if (child + 1 < merge->n &&
		    memcmp(top_of(merge, child + 1), top_of(merge, child), sort->key_bytes) < 0)
			child++;
		if (memcmp(top_of(merge, at), top_of(merge, child), sort->key_bytes) <= 0)
			return;
		other = merge->heap[at];
		merge->heap[at] = merge->heap[child];
		merge->heap[child] = other;
		at = child;
	}
}

/* Reads runs[0, n) together. */
static bool
merge_start(struct extsort *sort, struct merge *merge, struct run *runs, size_t n)
{
	*merge = (struct merge){.runs = runs, .fd = sort->fd};
	merge->heap = xcalloc(n, sizeof *merge->heap);
	merge->buffer_bytes = sort->memory_bytes / n;
	if (merge->buffer_bytes < BUFFER_BYTES_MIN)
		merge->buffer_bytes = BUFFER_BYTES_MIN;
	for (size_t i = 0; i < n; i++) {
		runs[i].buffer = xmalloc(merge->buffer_bytes);
		if (!load(sort, merge, &runs[i]))
			return false;
		if (runs[i].record_len > 0)
			merge->heap[merge->n++] = i;
	}
	for (size_t i = merge->n / 2; i-- > 0;)
		sift_down(sort, merge, i);
	return true;
}

/* NULL: at the end, or it failed. */
static const void *
merge_next(struct extsort *sort, struct merge *merge, size_t *ret_len)
{
	struct run *run;

	if (merge->taken) {
		run = &merge->runs[merge->heap[0]];
		run->n_taken += LEN_BYTES + run->record_len;
		if (!load(sort, merge, run))
			return NULL;
		if (run->record_len == 0)
			merge->heap[0] = merge->heap[--merge->n];
		sift_down(sort, merge, 0);
	}
	merge->taken = merge->n > 0;
	if (merge->n == 0)
		return NULL;
	*ret_len = merge->runs[merge->heap[0]].record_len;
	return top_of(merge, 0);
}

/* runs[0, n) become one, written behind what is in the new file. */
static bool
merge_into(struct extsort *sort, struct run *runs, size_t n, struct tempfile_writer *writer)
{
	struct merge merge;
	const void *record;
	uint32_t length;
	size_t len;
	bool ok = merge_start(sort, &merge, runs, n);

	while (ok && (record = merge_next(sort, &merge, &len))) {
		length = (uint32_t)len;
		if (!tempfile_write(writer, &length, LEN_BYTES) ||
		    !tempfile_write(writer, record, len))
			ok = fail(sort, "write to", errno);
	}
	merge_end(&merge, n);
	return ok && !sort->why;
}

/* Where there are more runs than can be read together, each so many become one, in another file. */
static bool
merge_pass(struct extsort *sort, size_t n_together)
{
	size_t n_runs = sort->n_runs, n;
	struct run *old = sort->runs;
	struct tempfile_writer writer;
	int fd = tempfile_open();
	bool ok = fd >= 0 || fail(sort, "make", errno);
	off_t at;

	sort->runs = NULL;
	sort->n_runs = sort->runs_cap = 0;
	tempfile_writer_init(&writer, fd, 0);
	for (size_t i = 0; ok && i < n_runs; i += n) {
		n = n_runs - i < n_together ? n_runs - i : n_together;
		at = writer.at;
		ok = merge_into(sort, old + i, n, &writer);
		if (ok && !tempfile_flush(&writer))
			ok = fail(sort, "write to", errno);
		if (ok)
			add_run(sort, at, writer.at);
	}
	free(old);
	if (ok) {
		close(sort->fd);
		sort->fd = fd;
		sort->file_len = writer.at;
	} else if (fd >= 0) {
		close(fd);
	}
	return ok;
}

bool
extsort_end(struct extsort *sort)
{
	size_t n_together = sort->memory_bytes / BUFFER_BYTES_MIN;

	assert(!sort->ended);
	sort->ended = true;
	if (sort->why)
		return false;
	if (sort->n_runs == 0) {
		if (sort->n_index > 0)
			qsort_r(sort->index, sort->n_index, sizeof *sort->index, compare, sort);
		return true;
	}
	if (sort->n_index > 0 && !spill(sort))
		return false;
	free_arena(sort);
	if (n_together < 2)
		n_together = 2;
	while (sort->n_runs > n_together)
		if (!merge_pass(sort, n_together))
			return false;
	return merge_start(sort, &sort->merge, sort->runs, sort->n_runs);
}

const void *
extsort_next(struct extsort *sort, size_t *ret_len)
{
	const unsigned char *record;

	assert(sort->ended);
	if (sort->why)
		return NULL;
	if (sort->n_runs > 0)
		return merge_next(sort, &sort->merge, ret_len);
	if (sort->n_read == sort->n_index)
		return NULL;
	record = sort->arena + sort->index[sort->n_read++];
	*ret_len = record_len(record);
	return record + LEN_BYTES;
}
