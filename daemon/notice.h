/* A notice: that an effect waits for a human. Its id and its text, the same for every kind of
 * notifier. Pure. */
#ifndef EFFECTD_NOTICE_H
#define EFFECTD_NOTICE_H

#include "buf.h"
#include "digest.h"

#include <stdint.h>

struct notice {
	struct uuid effect;
	const char *ns, *tool, *key;
	int32_t attempt;
	int32_t notice_no;  /* 1 = the first, later ones are reminders */
	int64_t since_us;   /* Unix microseconds */
	const char *reason; /* NULL = none */
};

/*
 * UUID version 8 from SHA-256 of (effect, attempt, notice number, since): the same in every try of
 * it, and another one for a reminder, and where the same attempt is escalated once more.
 */
struct uuid notice_id(const struct notice *notice);
/* One JSON object and an LF. */
void notice_line(const struct notice *notice, struct buf *out);

#endif
