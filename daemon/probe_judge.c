/*
 * Judging an http probe's answer by its rules. Promise: `landed`,
 * `failed` and `absent` are told only where exactly one rule holds in all of its parts; a body that
 * cannot be read strictly holds no value.
 */
#include "probe_judge.h"

#include "alloc.h"
#include "canon.h"
#include "json.h"
#include "probe_template.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECONDS_MAX 253402300800 /* the year 10000 */

/* Is the string at `node` what the template says of this effect? */
static bool
string_holds(
    const char *template, const struct probe_ask *ask, const struct json_doc *body, uint32_t node)
{
	struct buf want = {0};
	char *got, *why = NULL;
	bool holds = false;
	size_t len;

	if (probe_template_fill(
		template, &(struct probe_template_values){.ask = ask}, &want, &why)) {
		got = json_string(body, node, &len);
		holds = len == want.len && memcmp(got, buf_str(&want), len) == 0;
		free(got);
	}
	free(why);
	buf_free(&want);
	return holds;
}

static bool
value_holds(
    const struct probe_http_value *value, const struct probe_ask *ask, const struct json_doc *body)
{
	struct buf got = {0};
	uint32_t node;
	bool holds;

	if (!json_pointer(body, 0, value->pointer, &node) ||
	    body->nodes[node].type == JSON_OPAQUE ||
	    (body->nodes[node].type == JSON_STRING) != value->is_string)
		return false;
	if (value->is_string)
		return string_holds(value->text, ask, body, node);
	canon_value(&got, body, node, NULL, 0);
	holds = strcmp(buf_str(&got), value->text) == 0;
	buf_free(&got);
	return holds;
}

/* "+01:00", "-05:30" or "Z" to the end of the text. */
static bool
read_zone(const char *text, int64_t *ret_seconds)
{
	int64_t hours, minutes;
	char digits[3] = "";

	*ret_seconds = 0;
	if (strcmp(text, "Z") == 0)
		return true;
	if ((text[0] != '+' && text[0] != '-') || strlen(text) != 6 || text[3] != ':' ||
	    strspn(text + 1, "0123456789") != 2 || strspn(text + 4, "0123456789") != 2)
		return false;
	memcpy(digits, text + 1, 2);
	hours = strtol(digits, NULL, 10);
	memcpy(digits, text + 4, 2);
	minutes = strtol(digits, NULL, 10);
	*ret_seconds = (text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	return true;
}

/* RFC 3339, its fraction left out. */
static bool
read_rfc3339(const char *text, int64_t *ret_seconds)
{
	const char *end;
	struct tm tm = {0};
	int64_t zone;

	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (end && *end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	if (!end || !read_zone(end, &zone))
		return false;
	*ret_seconds = timegm(&tm) - zone;
	return true;
}

/* RFC 3339, or whole seconds since 1970. */
static bool
read_instant(const struct json_doc *body, uint32_t node, int64_t *ret_us)
{
	int64_t seconds = -1;
	bool ok = false;
	char *s;

	if (body->nodes[node].type == JSON_NUMBER) {
		ok = json_int(body, node, &seconds);
	} else if (body->nodes[node].type == JSON_STRING) {
		s = json_string(body, node, NULL);
		ok = read_rfc3339(s, &seconds);
		free(s);
	}
	if (!ok || seconds < 0 || seconds > SECONDS_MAX)
		return false;
	*ret_us = seconds * 1000000;
	return true;
}

static bool
rule_holds(const struct probe_http_rule *rule, const struct probe_ask *ask, long status,
    const struct json_doc *body)
{
	bool holds = rule->n_statuses == 0;
	int64_t at_us;
	uint32_t node;

	if (!rule->given)
		return false;
	for (size_t i = 0; i < rule->n_statuses && !holds; i++)
		holds = rule->statuses[i] == status;
	if (!holds || (!body && (rule->n_values > 0 || rule->after)))
		return false;
	for (size_t i = 0; i < rule->n_values && holds; i++)
		holds = value_holds(&rule->values[i], ask, body);
	if (holds && rule->after)
		/* the provider's clock tells whole seconds: the second of the claim counts */
		holds = json_pointer(body, 0, rule->after, &node) &&
		    read_instant(body, node, &at_us) && at_us + 999999 >= ask->claimed_at_us;
	return holds;
}

static void
take_result(const struct probe_http_spec *spec, const struct json_doc *doc, const char *body,
    size_t body_len, struct probe_answer *answer)
{
	uint32_t node = 0;

	if (!doc)
		return;
	if (!spec->result) {
		answer->result = body;
		answer->result_len = body_len;
	} else if (json_pointer(doc, 0, spec->result, &node)) {
		answer->result = doc->text + doc->nodes[node].start;
		answer->result_len = doc->nodes[node].end - doc->nodes[node].start;
	}
}

/* Whatever it says: is it about what was asked, rather than about us or about its own troubles? */
static bool
speaks_of_it(long status)
{
	switch (status) {
	case 401: /* who we are */
	case 403:
	case 407:
	case 408: /* not now */
	case 429:
		return false;
	default:
		return status < 500;
	}
}

struct probe_answer
probe_judge_http(const struct probe_http_spec *spec, const struct probe_ask *ask, long status,
    const char *body, size_t body_len, char **ret_reason)
{
	struct probe_answer answer = {.verdict = PROBE_INCONCLUSIVE};
	struct json_doc doc = {0}, *read = NULL;
	bool landed, failed, absent;

	/* only what is to be stored may hold what a strict reader refuses */
	if (body_len > 0 &&
	    json_scan(&doc, body, body_len, spec->result && spec->result[0] ? spec->result : NULL,
		NULL) == 0)
		read = &doc;
	landed = rule_holds(&spec->landed, ask, status, read);
	failed = rule_holds(&spec->failed, ask, status, read);
	absent = rule_holds(&spec->absent, ask, status, read);
	if (landed + failed + absent > 1) {
		*ret_reason = xasprintf("HTTP %ld fits several rules", status);
		answer.answered = true;
	} else if (landed + failed + absent == 0) {
		*ret_reason = xasprintf(
		    "HTTP %ld%s fits no rule", status, read ? "" : " without a JSON body");
		answer.answered = read && speaks_of_it(status);
	} else {
		*ret_reason = xasprintf("HTTP %ld", status);
		answer.verdict = landed ? PROBE_LANDED : failed ? PROBE_FAILED : PROBE_ABSENT;
		if (!absent)
			take_result(spec, read, body, body_len, &answer);
	}
	answer.reason = *ret_reason;
	json_free(&doc);
	return answer;
}
