/*
 * Log lines: builds one in a buffer of this module and hands it to the kernel in one write, or to
 * the journal as one entry. Promises: one line a call whatever a value holds (control characters
 * are escaped), never more than one write(2), no failure reaches the caller. What to log does not
 * belong here. Owns its one buffer for the life of the process.
 */
#include "log.h"

#include "buf.h"
#include "log_journal.h"
#include "utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_KEEP_BYTES 65536 /* a longer line's memory is given back */
#define PRIORITY_BYTES 3      /* "<6>" before a line for the journal */

static const struct {
	const char *name;
	char priority; /* syslog(3) */
} levels[] = {
    [LOG_LEVEL_DEBUG] = {"debug", '7'},
    [LOG_LEVEL_INFO] = {"info", '6'},
    [LOG_LEVEL_WARNING] = {"warning", '4'},
    [LOG_LEVEL_ERROR] = {"error", '3'},
};

static enum log_level level_min = LOG_LEVEL_INFO;
static enum log_format format = LOG_FORMAT_TEXT;
static bool to_journal;	 /* lines begin with their priority, */
static bool with_fields; /* and come as entries of their own, where it takes them */
static bool line_open;
static uint64_t n_lost;
static struct buf line;

/* systemd names the journal's socket in JOURNAL_STREAM as device:inode; stderr may have been
 * redirected since. */
static bool
stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t dev, ino;
	struct stat st;

	/* NOLINTNEXTLINE(cert-err34-c): what overflows is no device and inode of ours */
	return stream && sscanf(stream, "%ju:%ju", &dev, &ino) == 2 &&
	    fstat(STDERR_FILENO, &st) == 0 && (uintmax_t)st.st_dev == dev &&
	    (uintmax_t)st.st_ino == ino;
}

void
log_init(enum log_level new_level, enum log_format new_format)
{
	level_min = new_level;
	format = new_format;
	to_journal = stderr_is_journal();
	with_fields = to_journal && log_journal_is_there();
}

bool
log_level_parse(const char *name, enum log_level *ret)
{
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		if (strcmp(levels[i].name, name) == 0) {
			*ret = (enum log_level)i;
			return true;
		}
	}
	return false;
}

bool
log_format_parse(const char *name, enum log_format *ret)
{
	bool json = strcmp(name, "json") == 0;

	if (!json && strcmp(name, "text") != 0)
		return false;
	*ret = json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT;
	return true;
}

const char *
log_level_name(enum log_level level)
{
	return levels[level].name;
}

bool
log_wants(enum log_level level)
{
	return level >= level_min;
}

/* Can the value stand in logfmt without quotes? */
static bool
is_bare(const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c >= 0x7f)
			return false;
	}
	return len > 0;
}

/* A quoted value. What a terminal would obey, or show otherwise than it stands there, is escaped
 * beside what JSON demands. Log lines stay UTF-8 whatever came in. */
static void
add_quoted(const char *value, size_t len)
{
	size_t n;
	uint32_t c;

	buf_add_char(&line, '"');
	for (; len > 0; value += n, len -= n) {
		n = utf8_char(value, len, &c);
		if (n == 0) {
			buf_add_str(&line, "\\ufffd");
			n = 1;
		} else if (c == '"' || c == '\\') {
			buf_printf(&line, "\\%c", (char)c);
		} else if (!utf8_misleads(c)) {
			buf_add(&line, value, n);
		} else {
			buf_json_escape(&line, c);
		}
	}
	buf_add_char(&line, '"');
}

/* Three digits, for milliseconds and their decimals. */
static void
add_thousandths(int64_t n)
{
	buf_add_char(&line, (char)('0' + n / 100));
	buf_add_char(&line, (char)('0' + n / 10 % 10));
	buf_add_char(&line, (char)('0' + n % 10));
}

/* The calendar is asked once a second: a busy daemon writes thousands of lines in it. */
static void
add_timestamp(void)
{
	static char second[sizeof "YYYY-MM-DDThh:mm:ss."];
	static time_t second_is = -1;
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec != second_is) {
		gmtime_r(&now.tv_sec, &tm);
		strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S.", &tm);
		second_is = now.tv_sec;
	}
	buf_add_str(&line, second);
	add_thousandths(now.tv_nsec / 1000000);
	buf_add_char(&line, 'Z');
}

bool
log_start(struct log_line *l, enum log_level level, const char *event)
{
	assert(!line_open);
	l->level = level;
	line_open = log_wants(level);
	if (!line_open)
		return false;
	buf_clear(&line);
	if (with_fields)
		log_journal_start();
	if (to_journal)
		buf_printf(&line, "<%c>", levels[level].priority);
	if (format == LOG_FORMAT_JSON) {
		buf_add_str(&line, "{\"ts\":\"");
		add_timestamp();
		buf_add_str(&line, "\",\"level\":\"");
		buf_add_str(&line, levels[level].name);
		buf_add_char(&line, '"');
	} else {
		add_timestamp();
		buf_add_char(&line, ' ');
		buf_add_str(&line, levels[level].name);
	}
	log_str(l, "event", event);
	return true;
}

static bool
is_open(const struct log_line *l)
{
	return line_open && log_wants(l->level);
}

static void
add_name(const char *name)
{
	buf_add_str(&line, format == LOG_FORMAT_JSON ? ",\"" : " ");
	buf_add_str(&line, name);
	buf_add_str(&line, format == LOG_FORMAT_JSON ? "\":" : "=");
}

/* What the line holds since `at` is the value of a field, too. */
static void
field_from(const char *name, size_t at)
{
	if (with_fields)
		log_journal_field(name, line.data + at, line.len - at);
}

void
log_strn(struct log_line *l, const char *name, const char *value, size_t len)
{
	if (!is_open(l))
		return;
	add_name(name);
	if (format == LOG_FORMAT_TEXT && is_bare(value, len))
		buf_add(&line, value, len);
	else
		add_quoted(value, len);
	if (with_fields)
		log_journal_field(name, value, len);
}

void
log_str(struct log_line *l, const char *name, const char *value)
{
	if (value)
		log_strn(l, name, value, strlen(value));
}

void
log_int(struct log_line *l, const char *name, int64_t value)
{
	size_t at;

	if (!is_open(l))
		return;
	add_name(name);
	at = line.len;
	buf_add_int(&line, value);
	field_from(name, at);
}

void
log_ms(struct log_line *l, const char *name, int64_t us)
{
	size_t at;

	if (!is_open(l))
		return;
	assert(us >= 0);
	add_name(name);
	at = line.len;
	buf_add_int(&line, us / 1000);
	buf_add_char(&line, '.');
	add_thousandths(us % 1000);
	field_from(name, at);
}

/* To the journal, or where that takes none to stderr. A line that cannot be written is counted, and
 * stops nothing. */
static void
hand_over(enum log_level level)
{
	enum log_journal_fate fate = LOG_JOURNAL_REFUSED;

	if (with_fields)
		fate = log_journal_send(levels[level].priority, line.data + PRIORITY_BYTES,
		    line.len - PRIORITY_BYTES - 1);
	if (fate == LOG_JOURNAL_REFUSED)
		fate = write(STDERR_FILENO, line.data, line.len) < 0 ? LOG_JOURNAL_LOST
								     : LOG_JOURNAL_SENT;
	n_lost += fate == LOG_JOURNAL_LOST;
}

void
log_end(struct log_line *l)
{
	if (!is_open(l))
		return;
	buf_add_str(&line, format == LOG_FORMAT_JSON ? "}\n" : "\n");
	hand_over(l->level);
	line_open = false;
	if (line.cap > LINE_KEEP_BYTES)
		buf_free(&line);
}

uint64_t
log_n_lost(void)
{
	return n_lost;
}

static void
log_message(enum log_level level, const char *event, const char *fmt, va_list ap)
{
	struct log_line l;
	char *text;

	if (!log_start(&l, level, event))
		return;
	if (vasprintf(&text, fmt, ap) >= 0) {
		log_str(&l, "msg", text);
		free(text);
	}
	log_end(&l);
}

#define LOG_VERB(verb, level)                              \
	void verb(const char *event, const char *fmt, ...) \
	{                                                  \
		va_list ap;                                \
                                                           \
		va_start(ap, fmt);                         \
		log_message(level, event, fmt, ap);        \
		va_end(ap);                                \
	}

LOG_VERB(log_debug, LOG_LEVEL_DEBUG)
LOG_VERB(log_info, LOG_LEVEL_INFO)
LOG_VERB(log_warn, LOG_LEVEL_WARNING)
LOG_VERB(log_error, LOG_LEVEL_ERROR)
