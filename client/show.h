/*
 * What effectctl prints: for people, safe for a terminal; with --json, the wire's own bytes under a
 * schema's name; errors alike for all verbs, each with its exit code.
 */
#ifndef EFFECTD_SHOW_H
#define EFFECTD_SHOW_H

#include "ask.h"
#include "buf.h"
#include "ctl.h"

#include <stdint.h>

/*
 * Appends text[0, len) so that it can move no cursor and fake no line: control characters,
 * bidirectional overrides, invisible characters and what is no UTF-8 come out as escapes (\n, \x1b,
 * \u202e), a backslash doubled.
 */
void show_text(struct buf *out, const char *text, size_t len);
/* The same for a file, which is UTF-8 whatever the terminal's character set. */
void show_utf8(struct buf *out, const char *text, size_t len);
/*
 * A word of a shell's command line, so that what is printed can be pasted and is that text again:
 * as it is, in quotes, or, where it could move a cursor or be misread, as $'...' with escapes.
 */
void show_shell(struct buf *out, const char *text);
/* The same as show_text() for raw JSON, which stays the same JSON value: \u escapes within strings,
 * blanks for white space between tokens. */
void show_json(struct buf *out, const char *raw, size_t len);
/* Raw JSON for stdout: byte for byte, but as by show_json() where that is a terminal. */
void show_raw(struct buf *out, const char *raw, size_t len);
/* Is the character set UTF-8? If not, all but ASCII is escaped. Found out by show_init() (the
 * locale's); set by the tests, and for a document that names its own. */
void show_init(void);
void show_set_utf8(bool utf8);
bool show_is_utf8(void);
/* How many columns of a terminal an escaped text takes. */
size_t show_width(const char *text, size_t len);

/* `name: value` lines of an object's members but those in `skip` (NULL-terminated names); objects
 * in an array stand below, one a line. */
void show_members(
    struct buf *out, const struct ask_answer *answer, uint32_t object, const char *const *skip);
/* One member alone and a line break: text as it is, anything else raw; escaped only where stdout is
 * a terminal. Nothing if it is absent. */
void show_member(const struct ask_answer *answer, uint32_t object, const char *name);
/* `{"schema":"effectctl.VERB/1", ...}` and LF on stdout, with the object raw[0, len) spliced in by
 * show_raw(). */
void show_schema(const char *verb, const char *raw, size_t len);
/* The line that says that what follows is a replay: a retry loop must not see "still failing" while
 * nothing is sent. Texts may be NULL. */
void show_replay(
    struct buf *out, int64_t attempt, const char *outcome, const char *done_at, const char *by);
/* Writes to stdout, escaped by the caller. */
void show_out(struct buf *text);

/* The exit code of an error by its JSON-RPC code. */
enum ctl_exit show_error_exit(int64_t code);
/* The exit code of begin by its answer. */
enum ctl_exit show_decision_exit(const struct ask_answer *answer);
/* Tells an error of our own: `name` is the error's word ("usage", "bad_input", "unavailable", ...).
 * Returns `code`. */
int show_failure(const struct ctl *ctl, enum ctl_exit code, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* What became of an ask(): CTL_OK if `answer` has a result; else tells why it has none, the wire's
 * error or `err`, and returns the exit code. Takes `why`. */
int show_asked(const struct ctl *ctl, int err, char *why, const struct ask_answer *answer);
/* Flushes stdout: what could not be written is no success. Returns `code`, or CTL_BUG. */
int show_end(int code);

#endif
