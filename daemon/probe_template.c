/*
 * Checking and filling in the templates of probes. Promise: what a placeholder stands for is
 * written whole or the template is not filled in; nothing of a stranger's can end the text that it
 * stands in, as control characters are refused where they are not encoded. What is done with the
 * text is the kinds' (probe_http.c, probe_judge.c, probe_sql.c).
 */
#include "probe_template.h"

#include "alloc.h"
#include "canon.h"
#include "json.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_BYTES 256
#define CREDENTIAL "credential:"

/* ---- what the policy's reader asks ---- */

static bool
is_known(const char *name, const struct probe_template_pair *credentials, size_t n_credentials)
{
	static const char *const words[] = {
	    "provider_key", "effect", "key", "namespace", "tool", "attempt", "claimed_at"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(name, words[i]) == 0)
			return true;
	for (size_t i = 0; i < n_credentials; i++)
		if (strncmp(name, CREDENTIAL, strlen(CREDENTIAL)) == 0 &&
		    strcmp(name + strlen(CREDENTIAL), credentials[i].name) == 0)
			return true;
	return name[0] == '/' && json_pointer_valid(name);
}

bool
probe_template_check(const char *text, const struct probe_template_pair *credentials,
    size_t n_credentials, char **ret_why)
{
	while ((text = strpbrk(text, "{}"))) {
		const char *end = *text == '{' ? strpbrk(text + 1, "{}") : NULL;
		char name[NAME_BYTES];

		if (!end || *end != '}') {
			*ret_why = xstrdup("a brace has no other half");
			return false;
		}
		if ((size_t)(end - text) > sizeof name) {
			*ret_why = xstrdup("a placeholder of over 255 bytes");
			return false;
		}
		snprintf(name, sizeof name, "%.*s", (int)(end - text - 1), text + 1);
		if (!is_known(name, credentials, n_credentials)) {
			*ret_why = xasprintf("unknown placeholder '{%s}'", name);
			return false;
		}
		text = end + 1;
	}
	return true;
}

/* The next placeholder from *text on: returns where its brace stands, with its name, and *text
 * behind it. NULL: no more. */
static const char *
next_placeholder(const char **text, char ret_name[NAME_BYTES])
{
	const char *start = strchr(*text, '{'), *end;

	if (!start)
		return NULL;
	end = strchr(start, '}');
	assert(end && end - start <= NAME_BYTES); /* it was checked */
	snprintf(ret_name, NAME_BYTES, "%.*s", (int)(end - start - 1), start + 1);
	*text = end + 1;
	return start;
}

bool
probe_template_keeps(const char *text, char *const *keep, size_t n_keep, char **ret_why)
{
	char name[NAME_BYTES];

	while (next_placeholder(&text, name)) {
		bool kept = name[0] != '/';

		for (size_t i = 0; i < n_keep && !kept; i++)
			kept = json_pointer_under(name, keep[i]);
		if (!kept) {
			*ret_why = xasprintf("'{%s}' is not among what 'keep' stores", name);
			return false;
		}
	}
	return true;
}

bool
probe_template_ties(const char *text)
{
	return strstr(text, "{provider_key}") || strstr(text, "{effect}") ||
	    strstr(text, "{key}") || strstr(text, "{claimed_at}");
}

/* ---- filling in ---- */

static void
add_value(struct buf *out, const char *value, size_t len, bool encode)
{
	if (!encode) {
		buf_add(out, value, len);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    (c && strchr("-._~", c)))
			buf_add_char(out, (char)c);
		else
			buf_printf(out, "%%%02X", c);
	}
}

/* The kept value that `pointer` names: kept is an object, whose members' names are the pointers of
 * the policy's `keep`. */
static bool
find_kept(const struct json_doc *kept, const char *pointer, uint32_t *ret_node)
{
	uint32_t node = kept->nodes[0].n_children > 0 ? 1 : 0;

	for (; node; node = kept->nodes[node].next) {
		char *name = json_name(kept, node, NULL);
		bool under = json_pointer_valid(name) && json_pointer_under(pointer, name);
		size_t len = strlen(name);

		free(name);
		if (under && json_pointer(kept, node, pointer + len, ret_node))
			return true;
	}
	return false;
}

static bool
add_kept(
    struct buf *out, const char *pointer, bool encode, const struct probe_ask *ask, char **ret_why)
{
	const char *text = ask->kept ? ask->kept : "{}";
	struct json_doc kept = {0};
	struct buf value = {0};
	bool found = false;
	uint32_t node;
	size_t len;
	char *s;

	if (json_scan(&kept, text, strlen(text), NULL, NULL) == 0 &&
	    find_kept(&kept, pointer, &node)) {
		switch (kept.nodes[node].type) {
		case JSON_STRING:
			s = json_string(&kept, node, &len);
			buf_add(&value, s, len);
			free(s);
			found = len > 0;
			break;
		case JSON_NUMBER:
		case JSON_TRUE:
		case JSON_FALSE:
			canon_value(&value, &kept, node, NULL, 0);
			found = true;
			break;
		default:
			break;
		}
	}
	if (!encode && text_has_control(value.data, value.len))
		found = false;
	if (found)
		add_value(out, value.data, value.len, encode);
	else
		*ret_why = xasprintf("there is no usable value at '%s' of the args", pointer);
	buf_free(&value);
	json_free(&kept);
	return found;
}

/* RFC 3339 to the microsecond, as the ledger has it: rounded down it would lie before the claim. */
static void
instant_text(int64_t unix_us, char *ret, size_t size)
{
	time_t seconds = (time_t)(unix_us / 1000000);
	char second[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret, size, "%s.%06dZ", second, (int)(unix_us % 1000000));
}

static bool
add_placeholder(
    const char *name, const struct probe_template_values *values, struct buf *out, char **ret_why)
{
	const struct probe_ask *ask = values->ask;
	char text[64] = ""; /* what names nothing is nothing */
	const char *value = text;

	if (name[0] == '/')
		return add_kept(out, name, values->encode, ask, ret_why);
	if (strcmp(name, "provider_key") == 0 || strcmp(name, "effect") == 0)
		uuid_text(&ask->effect, text);
	else if (strcmp(name, "key") == 0)
		value = ask->key;
	else if (strcmp(name, "namespace") == 0)
		value = ask->ns;
	else if (strcmp(name, "tool") == 0)
		value = ask->tool;
	else if (strcmp(name, "attempt") == 0)
		snprintf(text, sizeof text, "%" PRId32, ask->attempt);
	else if (strcmp(name, "claimed_at") == 0)
		instant_text(ask->claimed_at_us, text, sizeof text);
	else
		for (size_t i = 0; i < values->n_credentials; i++)
			if (strcmp(name + strlen(CREDENTIAL), values->credentials[i].name) == 0)
				value = values->credential_texts[i];
	add_value(out, value, strlen(value), values->encode);
	return true;
}

bool
probe_template_fill(
    const char *text, const struct probe_template_values *values, struct buf *out, char **ret_why)
{
	const char *from = text, *start;
	char name[NAME_BYTES];

	while ((start = next_placeholder(&text, name))) {
		buf_add(out, from, (size_t)(start - from));
		if (!add_placeholder(name, values, out, ret_why))
			return false;
		from = text;
	}
	buf_add_str(out, from);
	return true;
}
