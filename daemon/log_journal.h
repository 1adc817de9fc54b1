/*
 * A log line as an entry of systemd's journal, with fields of its own. A part of log: one entry is
 * under construction at a time, as one line is.
 */
#ifndef EFFECTD_LOG_JOURNAL_H
#define EFFECTD_LOG_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

enum log_journal_fate {
	LOG_JOURNAL_SENT,
	LOG_JOURNAL_REFUSED, /* it takes no entries, or not this one */
	LOG_JOURNAL_LOST     /* it does not keep up */
};

/* Does a journal take entries here? */
bool log_journal_is_there(void);
void log_journal_start(void);
/* `name` as in the line; the field is EFFECTD_NAME, and holds the value as it is. Both are copied.
 */
void log_journal_field(const char *name, const char *value, size_t len);
/* Sends what came since the start, with the line as its message. Takes a tenth of a second at most.
 */
enum log_journal_fate log_journal_send(char priority, const char *message, size_t len);

#endif
