/*
 * The one reader of method flags. Promise: what is sent is exactly the members given, spelt as
 * given; a value is put into the line only after it is known to be one whole JSON value, so that no
 * value can add members. Ranges and names are the daemon's to judge. Owns nothing beyond a call.
 */
#include "member.h"

#include "alloc.h"
#include "json.h"
#include "text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (256U << 20)

enum member_kind { TEXT, INT, JSON, FLAG };

static const struct member {
	const char *name;
	enum member_kind kind;
	unsigned verbs;
	const char *arg, *help;
} members[] = {
#define MEMBER(name, kind, verbs, arg, help) {#name, kind, verbs, arg, help},
#include "members.def"
#undef MEMBER
};
static const size_t n_members = sizeof members / sizeof *members;

unsigned
member_verb(const char *verb)
{
	static const struct {
		const char *verb;
		unsigned bit;
	} table[] = {{"begin", MEMBER_BEGIN}, {"execute", MEMBER_BEGIN},
	    {"complete", MEMBER_COMPLETE}, {"release", MEMBER_RELEASE}, {"unknown", MEMBER_UNKNOWN},
	    {"extend", MEMBER_EXTEND}, {"key", MEMBER_KEY}, {"get", MEMBER_GET},
	    {"list", MEMBER_LIST}, {"resolve", MEMBER_RESOLVE}};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].verb, verb))
			return table[i].bit;
	return 0;
}

void
member_flags(struct flag_set *set, unsigned verb)
{
	for (size_t i = 0; i < n_members; i++)
		if (members[i].verbs & verb)
			flag_add(set, members[i].name, 0, members[i].arg, members[i].help);
}

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

const char *
member_json_text(const char *text, size_t len, struct buf *out)
{
	struct json_doc doc = {0};
	struct buf wrapped = {0};
	const char *why = NULL;

	while (len > 0 && blank(text[len - 1]))
		len--;
	while (len > 0 && blank(*text))
		text++, len--;
	if (len == 0)
		return "is empty, and no JSON";
	/* as the only member of an object, so that `1,"token":2` is seen for what it is; duplicates
	 * and the like are the daemon's */
	buf_add_str(&wrapped, "{\"v\":");
	buf_add(&wrapped, text, len);
	buf_add_char(&wrapped, '}');
	if (json_scan(&doc, wrapped.data, wrapped.len, "/v", NULL) == ERR_PARSE ||
	    doc.n_nodes != 2 || doc.nodes[1].end != wrapped.len - 1) {
		why = "is no JSON value";
	} else {
		for (size_t i = 0; i < len; i++)
			buf_add_char(out, text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
	}
	json_free(&doc);
	buf_free(&wrapped);
	return why;
}

/* A whole file, "-" = standard input. Returns NULL or the reason. */
static const char *
read_whole(const char *name, struct buf *out)
{
	FILE *file = strcmp(name, "-") ? fopen(name, "rbe") : stdin;
	const char *why = NULL;
	char data[65536];
	size_t n;

	if (!file)
		return strerror(errno);
	while (!why && (n = fread(data, 1, sizeof data, file)) > 0) {
		buf_add(out, data, n);
		if (out->len > FILE_BYTES_MAX)
			why = "too long";
	}
	if (!why && ferror(file))
		why = strerror(errno);
	if (file != stdin)
		fclose(file);
	return why;
}

bool
member_json(const char *what, const char *value, struct buf *out, char **ret_error)
{
	bool is_stdin = !strcmp(value, "-"), is_file = value[0] == '@';
	struct buf text = {0};
	const char *why;

	if (is_stdin || is_file) {
		why = read_whole(is_file ? value + 1 : value, &text);
		if (why) {
			*ret_error = xasprintf(
			    "%s: cannot read \"%s\": %s", what, is_file ? value + 1 : "-", why);
			buf_free(&text);
			return false;
		}
	} else {
		buf_add_str(&text, value);
	}
	why = member_json_text(text.data, text.len, out);
	buf_free(&text);
	if (!why)
		return true;
	if (is_stdin || is_file)
		*ret_error = xasprintf("%s: \"%s\" %s", what, is_file ? value + 1 : "-", why);
	else
		*ret_error = xasprintf(
		    "%s: \"%.60s\" %s (a string needs its quotes, a file its @)", what, value, why);
	return false;
}

static enum ctl_exit
add_member(const struct member *m, const char *value, struct buf *out, char **ret_error)
{
	char name[FLAG_NAME_BYTES], *spelt = xasprintf("--%s", flag_spell(m->name, name));
	enum ctl_exit code = CTL_OK;
	struct buf json = {0};
	int64_t number;

	if (m->kind == JSON) {
		if (member_json(spelt, value, &json, ret_error))
			buf_json_member_raw(out, m->name, json.data, json.len);
		else
			code = CTL_INPUT;
	} else if (m->kind == FLAG) {
		buf_json_member_bool(out, m->name, true);
	} else if (m->kind == INT) {
		if (text_int(value, 0, INT64_MAX, &number)) {
			buf_json_member_int(out, m->name, number);
		} else {
			*ret_error =
			    xasprintf("flag \"%s\" takes a whole number, not \"%s\"", spelt, value);
			code = CTL_USAGE;
		}
	} else if (json_utf8(value, strlen(value))) {
		buf_json_member_str(out, m->name, value);
	} else {
		*ret_error = xasprintf("flag \"%s\": the value is no UTF-8", spelt);
		code = CTL_INPUT;
	}
	buf_free(&json);
	free(spelt);
	return code;
}

enum ctl_exit
member_params(struct flag_set *set, unsigned verb, struct buf *out, char **ret_error)
{
	enum ctl_exit code = CTL_OK;
	const struct flag *flag;
	unsigned n_stdin = 0;

	buf_add_char(out, '{');
	for (size_t i = 0; i < n_members && !code; i++) {
		if (!(members[i].verbs & verb))
			continue;
		flag = flag_find(set, members[i].name);
		if (!flag->value)
			continue;
		if (members[i].kind == JSON && !strcmp(flag->value, "-") && n_stdin++ > 0) {
			*ret_error =
			    xstrdup("standard input (\"-\") can be read for one flag only");
			return CTL_USAGE;
		}
		code = add_member(&members[i], flag->value, out, ret_error);
	}
	buf_add_char(out, '}');
	return code;
}
