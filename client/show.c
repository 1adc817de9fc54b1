/*
 * Printing. Promise: no byte of the wire reaches a terminal unescaped, as keys, owners and reasons
 * are a model's or a stranger's words; stdout is data, stderr the rest. Layout of single verbs is
 * theirs (ctl_*.c), tables are table.c's.
 */
#include "show.h"

#include "alloc.h"
#include "utf8.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static bool utf8 = true;

void
show_init(void)
{
	utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void
show_set_utf8(bool is_utf8)
{
	utf8 = is_utf8;
}

bool
show_is_utf8(void)
{
	return utf8;
}

static bool
harmful(uint32_t c, bool as_utf8)
{
	return utf8_misleads(c) || (!as_utf8 && c >= 0x80);
}

static void
escape_text(struct buf *out, uint32_t c)
{
	static const char letters[] = "\a\b\t\n\v\f\r";

	if (c >= 7 && c <= 13)
		buf_printf(out, "\\%c", "abtnvfr"[strchr(letters, (int)c) - letters]);
	else if (c < 0x80)
		buf_printf(out, "\\x%02x", (unsigned)c);
	else if (c < 0x10000)
		buf_printf(out, "\\u%04x", (unsigned)c);
	else
		buf_printf(out, "\\U%08x", (unsigned)c);
}

static void
escape(struct buf *out, const char *text, size_t len, bool as_utf8)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + len;
	uint32_t c;
	size_t n;

	for (; p < end; p += n) {
		n = utf8_char((const char *)p, (size_t)(end - p), &c);
		if (n == 0) {
			buf_printf(out, "\\x%02x", *p);
			n = 1;
		} else if (c == '\\') {
			buf_add_str(out, "\\\\");
		} else if (harmful(c, as_utf8)) {
			escape_text(out, c);
		} else {
			buf_add(out, p, n);
		}
	}
}

void
show_text(struct buf *out, const char *text, size_t len)
{
	escape(out, text, len, utf8);
}

void
show_utf8(struct buf *out, const char *text, size_t len)
{
	escape(out, text, len, true);
}

static bool
shell_harmful(const char *text)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);
	uint32_t c;
	size_t n;

	for (; p < end; p += n) {
		n = utf8_char((const char *)p, (size_t)(end - p), &c);
		if (n == 0 || harmful(c, utf8))
			return true;
	}
	return false;
}

void
show_shell(struct buf *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:@%+,-";
	bool escaped = shell_harmful(text);

	if (*text && !text[strspn(text, plain)]) {
		buf_add_str(out, text);
		return;
	}
	buf_add_str(out, escaped ? "$'" : "'");
	for (; *text; text++) {
		if (escaped && (*text == '\'' || *text == '\\'))
			buf_printf(out, "\\%c", *text);
		else if (escaped && (*text < 0x20 || *text > 0x7e))
			buf_printf(out, "\\x%02x", (unsigned char)*text);
		else if (*text == '\'')
			buf_add_str(out, "'\\''");
		else
			buf_add_char(out, *text);
	}
	buf_add_char(out, '\'');
}

void
show_json(struct buf *out, const char *raw, size_t len)
{
	const unsigned char *p = (const unsigned char *)raw, *end = p + len;
	uint32_t c;
	size_t n;

	for (; p < end; p += n) {
		n = utf8_char((const char *)p, (size_t)(end - p), &c);
		if (n == 0) {
			buf_add_str(out, "\\ufffd"); /* no JSON holds it: the sender's fault, but
							not on our terminal */
			n = 1;
		} else if (c == '\n' || c == '\r' || c == '\t') {
			buf_add_char(out, ' '); /* raw ones only stand between tokens */
		} else if (harmful(c, utf8)) {
			buf_json_escape(out, c);
		} else {
			buf_add(out, p, n);
		}
	}
}

void
show_raw(struct buf *out, const char *raw, size_t len)
{
	if (isatty(STDOUT_FILENO))
		show_json(out, raw, len);
	else
		buf_add(out, raw, len);
}

/* A node as a value: a string's text, anything else as JSON. */
static void
show_value(struct buf *out, const struct ask_answer *answer, uint32_t node)
{
	size_t len;
	const char *raw;
	char *text;

	if (answer->doc.nodes[node].type == JSON_STRING) {
		text = json_string(&answer->doc, node, &len);
		show_text(out, text, len);
		free(text);
	} else {
		raw = ask_raw(answer, node, &len);
		show_json(out, raw, len);
	}
}

static bool
listed(const char *name, const char *const *names)
{
	for (; names && *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

size_t
show_width(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + len;
	size_t width = 0, n;
	uint32_t c;
	int wide;

	for (; p < end; p += n) {
		n = utf8_char((const char *)p, (size_t)(end - p), &c);
		wide = n ? wcwidth((wchar_t)c) : 1;
		width += wide < 0 ? 1 : (size_t)wide;
		n = n ? n : 1;
	}
	return width;
}

void
show_members(
    struct buf *out, const struct ask_answer *answer, uint32_t object, const char *const *skip)
{
	const struct json_node *nodes = answer->doc.nodes;
	uint32_t node = nodes[object].n_children ? object + 1 : 0, item;
	size_t len;
	char *name;

	for (; node; node = nodes[node].next) {
		name = json_name(&answer->doc, node, &len);
		if (!listed(name, skip)) {
			show_text(out, name, len);
			buf_add_char(out, ':');
			if (nodes[node].type == JSON_ARRAY) {
				item = nodes[node].n_children ? node + 1 : 0;
				for (; item; item = nodes[item].next) {
					buf_add_str(out, "\n  ");
					show_value(out, answer, item);
				}
			} else {
				buf_add_char(out, ' ');
				show_value(out, answer, node);
			}
			buf_add_char(out, '\n');
		}
		free(name);
	}
}

void
show_member(const struct ask_answer *answer, uint32_t object, const char *name)
{
	uint32_t node = json_member(&answer->doc, object, name);
	struct buf out = {0};
	const char *raw;
	char *text;
	size_t len;

	if (!node)
		return;
	if (answer->doc.nodes[node].type != JSON_STRING) {
		raw = ask_raw(answer, node, &len);
		show_raw(&out, raw, len);
	} else if (isatty(STDOUT_FILENO)) {
		show_value(&out, answer, node);
	} else {
		text = json_string(&answer->doc, node, &len);
		buf_add(&out, text, len);
		free(text);
	}
	buf_add_char(&out, '\n');
	show_out(&out);
	buf_free(&out);
}

void
show_schema(const char *verb, const char *raw, size_t len)
{
	struct buf out = {0};
	size_t i;

	buf_printf(&out, "{\"schema\":\"effectctl.%s/1\"", verb);
	if (len > 0 && raw[0] == '{') {
		for (i = 1; i < len && strchr(" \t\r\n", raw[i]); i++)
			;
		if (raw[i] != '}')
			buf_add_char(&out, ',');
		show_raw(&out, raw + i, len - i);
	} else {
		buf_add_str(&out, ",\"result\":");
		show_raw(&out, raw, len);
		buf_add_char(&out, '}');
	}
	buf_add_char(&out, '\n');
	show_out(&out);
	buf_free(&out);
}

void
show_replay(
    struct buf *out, int64_t attempt, const char *outcome, const char *done_at, const char *by)
{
	struct buf text = {0};

	buf_printf(&text,
	    "effectctl: this is a replay, nothing was run: attempt %lld %s at %s, decided by %s",
	    (long long)attempt, outcome ? outcome : "ended", done_at ? done_at : "an unknown time",
	    by ? by : "nobody known");
	show_text(out, text.data, text.len);
	buf_add_char(out, '\n');
	buf_free(&text);
}

void
show_out(struct buf *text)
{
	if (text->len > 0)
		fwrite(text->data, 1, text->len, stdout);
}

enum ctl_exit
show_error_exit(int64_t code)
{
	static const struct {
		int err;
		enum ctl_exit code;
	} table[] = {
	    {ERR_PARSE, CTL_INPUT},
	    {ERR_INVALID_REQUEST, CTL_INPUT},
	    {ERR_UNKNOWN_METHOD, CTL_INPUT},
	    {ERR_INVALID_PARAMS, CTL_INPUT},
	    {ERR_UNAVAILABLE, CTL_UNAVAILABLE},
	    {ERR_DENIED, CTL_DENIED},
	    {ERR_NOT_FOUND, CTL_NOT_FOUND},
	    {ERR_NOT_OWNER, CTL_CONFLICT},
	    {ERR_OVERLOADED, CTL_BUSY},
	    {ERR_CONFLICT, CTL_CONFLICT},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (err_code(table[i].err) == code)
			return table[i].code;
	return CTL_BUG;
}

enum ctl_exit
show_decision_exit(const struct ask_answer *answer)
{
	static const struct {
		const char *decision;
		enum ctl_exit code;
	} table[] = {{"run", CTL_OK}, {"ran", CTL_OK}, {"pass", CTL_OK}, {"replay", CTL_REPLAY},
	    {"busy", CTL_BUSY}, {"mismatch", CTL_MISMATCH}, {"unknown", CTL_UNKNOWN},
	    {"escalated", CTL_UNKNOWN}, {"exhausted", CTL_EXHAUSTED}, {"held", CTL_HELD}};
	char *decision = ask_text(answer, answer->result, "decision");
	char *outcome = ask_text(answer, answer->result, "outcome");
	enum ctl_exit code = CTL_BUG; /* a word that we do not know is no permission */

	for (size_t i = 0; decision && i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].decision, decision))
			code = table[i].code;
	if (code == CTL_REPLAY && !(outcome && !strcmp(outcome, "succeeded")))
		code = CTL_REPLAY_FAILED;
	free(decision);
	free(outcome);
	return code;
}

/* `name: message` and the data below; of invalid params the rule that was broken says more than the
 * message. */
static void
say_error(struct buf *out, const struct ask_answer *answer, uint32_t data)
{
	static const char *const told[] = {"name", NULL},
				 *const told_why[] = {"name", "pointer", "why", NULL};
	char *message = ask_text(answer, answer->error, "message");
	char *name = data ? ask_text(answer, data, "name") : NULL;
	char *pointer = data ? ask_text(answer, data, "pointer") : NULL;
	char *why = data ? ask_text(answer, data, "why") : NULL;
	bool has_rule = name && why && !strcmp(name, err_name(ERR_INVALID_PARAMS));

	buf_add_str(out, "effectctl: ");
	show_text(out, name ? name : "error", strlen(name ? name : "error"));
	buf_add_str(out, ": ");
	if (has_rule && pointer && *pointer) {
		show_text(out, pointer, strlen(pointer));
		buf_add_str(out, ": ");
	}
	if (has_rule)
		show_text(out, why, strlen(why));
	else if (message)
		show_text(out, message, strlen(message));
	buf_add_char(out, '\n');
	if (data && answer->doc.nodes[data].type == JSON_OBJECT)
		show_members(out, answer, data, has_rule ? told_why : told);
	free(message);
	free(name);
	free(pointer);
	free(why);
}

/* The wire's error. */
static int
show_error(const struct ctl *ctl, const struct ask_answer *answer)
{
	uint32_t data = json_member(&answer->doc, answer->error, "data");
	struct buf out = {0};
	const char *raw;
	int64_t code = 0;
	size_t len;

	(void)!ask_int(answer, answer->error, "code", &code);
	if (ctl->json) {
		raw = ask_raw(answer, answer->error, &len);
		buf_add_str(&out, "{\"schema\":\"effectctl.error/1\",\"error\":");
		show_raw(&out, raw, len);
		buf_add_str(&out, "}\n");
		show_out(&out);
	} else {
		say_error(&out, answer, data);
		fwrite(out.data, 1, out.len, stderr);
	}
	buf_free(&out);
	return show_error_exit(code);
}

int
show_failure(const struct ctl *ctl, enum ctl_exit code, const char *name, const char *fmt, ...)
{
	struct buf message = {0}, out = {0};
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	show_text(&message, text, strlen(text));
	if (ctl->json) {
		buf_printf(&out,
		    "{\"schema\":\"effectctl.error/1\",\"error\":{\"code\":%d,\"message\":",
		    (int)code);
		buf_json_string(&out, message.data, message.len);
		buf_printf(&out, ",\"data\":{\"name\":\"%s\"}}}\n", name);
		show_out(&out);
	} else {
		buf_printf(&out, "effectctl: %s\n", buf_str(&message));
		fwrite(out.data, 1, out.len, stderr);
	}
	buf_free(&message);
	buf_free(&out);
	return code;
}

int
show_asked(const struct ctl *ctl, int err, char *why, const struct ask_answer *answer)
{
	int code;

	if (!err)
		return answer->error ? show_error(ctl, answer) : CTL_OK;
	code = err == ERR_UNAVAILABLE ? show_failure(ctl, CTL_UNAVAILABLE, "unavailable", "%s", why)
				      : show_failure(ctl, CTL_BUG, "internal", "%s", why);
	free(why);
	return code;
}

int
show_end(int code)
{
	if (fflush(stdout) == EOF || ferror(stdout)) {
		fprintf(stderr, "effectctl: cannot write to standard output\n");
		return CTL_BUG;
	}
	return code;
}
