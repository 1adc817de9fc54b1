/*
 * Log lines on stderr, one write(2) each: `ts level event=begin ns=... k=v` (logfmt) or one JSON
 * object a line. Where stderr is the journal, the line is the message of an entry whose fields are
 * its members (EFFECTD_EVENT, EFFECTD_NAMESPACE, ...). A line that cannot be written is lost and
 * counted, and nothing else happens. What a policy calls secret never comes here: that is the
 * caller's.
 *
 *	log_warn("sweeper", "cannot reach the ledger: %s, trying again in %d ms", why, ms);
 *
 *	if (log_start(&l, LOG_LEVEL_INFO, "begin")) {
 *		log_str(&l, "tool", tool);
 *		log_int(&l, "attempt", attempt);
 *		log_end(&l);
 *	}
 */
#ifndef EFFECTD_LOG_H
#define EFFECTD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* One line under construction. Only one may be open at a time: its bytes live in log.c. */
struct log_line {
	enum log_level level;
};

/* May be called again (reload). Before the first call: info and above, text. Finds out whether
 * stderr is the journal. */
void log_init(enum log_level level, enum log_format format);
/* "debug", "info", "warning", "error"; "text", "json". False: no such name, ret untouched. */
bool log_level_parse(const char *name, enum log_level *ret);
bool log_format_parse(const char *name, enum log_format *ret);
const char *log_level_name(enum log_level level);
/* Would a line of this level be written? */
bool log_wants(enum log_level level);

/*
 * False where the level is not wanted; no other call on `l` is needed then, and each does nothing.
 * Members stand in the order in which they are added. Values need not be valid UTF-8 and may hold
 * anything.
 */
bool log_start(struct log_line *l, enum log_level level, const char *event);
void log_str(struct log_line *l, const char *name, const char *value); /* NULL: left out */
void log_strn(struct log_line *l, const char *name, const char *value, size_t len);
void log_int(struct log_line *l, const char *name, int64_t value);
void log_ms(struct log_line *l, const char *name,
    int64_t us); /* microseconds >= 0, written in ms with three decimals */
void log_end(struct log_line *l);
uint64_t log_n_lost(void); /* lines that could not be written, since the start */

/* A line with one member `msg`. Style of the message: lower case, no full stop, then how we go on.
 */
void log_debug(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_info(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_warn(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_error(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
