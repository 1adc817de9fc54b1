/*
 * The question `report`. Promise: what was not given is not sent, so that the ledger's clock and
 * defaults decide. Owns nothing beyond a call.
 */
#include "report_ask.h"

#include "alloc.h"
#include "conn.h"
#include "show.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define QUEUED_TRIES 4
#define QUEUED_MS_MAX 10000

static void
add_text(struct buf *out, const char *name, const char *value)
{
	if (value) {
		buf_json_member(out, name);
		buf_json_string(out, value, strlen(value));
	}
}

static void
add_int(struct buf *out, const char *name, int64_t value)
{
	if (value >= 0)
		buf_json_member_int(out, name, value);
}

static void
add_instant(struct buf *out, const char *name, int64_t ms)
{
	if (ms >= 0)
		buf_json_member_instant(out, name, ms * 1000);
}

static void
make_params(struct buf *out, const struct report_query *query)
{
	buf_add_char(out, '{');
	add_text(out, "name", query->name);
	add_text(out, "namespace", query->ns);
	add_text(out, "tool", query->tool);
	add_instant(out, "from", query->from_ms);
	add_instant(out, "to", query->to_ms);
	add_int(out, "limit", query->limit);
	add_int(out, "within_ms", query->within_ms);
	add_int(out, "keys_min", query->keys_min);
	buf_add_char(out, '}');
}

/* The daemon's error in one line: its word, and the rule or message. */
static char *
say(const struct ask_answer *answer)
{
	uint32_t data = json_member(&answer->doc, answer->error, "data");
	char *name = data ? ask_text(answer, data, "name") : NULL;
	char *why = data ? ask_text(answer, data, "why") : NULL;
	char *message = ask_text(answer, answer->error, "message");
	char *said = xasprintf("%s: %s", name ? name : "error", why ? why : message ? message : "");

	free(name);
	free(why);
	free(message);
	return said;
}

static int
refused(const struct ctl *ctl, const struct ask_answer *answer, char **ret_why)
{
	int64_t code = 0;

	if (!ret_why)
		return show_asked(ctl, 0, NULL, answer);
	(void)!ask_int(answer, answer->error, "code", &code);
	*ret_why = say(answer);
	return show_error_exit(code);
}

/* No answer, or none that is one. Takes `why`. */
static int
unanswered(const struct ctl *ctl, int err, char *why, char **ret_why)
{
	if (!ret_why)
		return show_asked(ctl, err, why, NULL);
	*ret_why = why;
	return err == ERR_UNAVAILABLE ? CTL_UNAVAILABLE : CTL_BUG;
}

/* Was it only that another report was under way? Then *ret_ms is when to ask again. One that took
 * its whole time would take it again. */
static bool
is_queued(const struct ask_answer *answer, int64_t took_ms, int64_t *ret_ms)
{
	uint32_t data = answer->error ? json_member(&answer->doc, answer->error, "data") : 0;
	int64_t code;

	return data && took_ms < QUEUED_MS_MAX && ask_int(answer, answer->error, "code", &code) &&
	    code == err_code(ERR_OVERLOADED) && ask_int(answer, data, "retry_after_ms", ret_ms) &&
	    *ret_ms >= 0 && *ret_ms <= QUEUED_MS_MAX;
}

int
report_ask(
    const struct ctl *ctl, const struct report_query *query, struct report *ret, char **ret_why)
{
	struct ask what = {
	    .method = "report", .again = ASK_ONCE, .deadline_ms = query->deadline_ms};
	struct ask_answer answer = {0};
	struct buf params = {0};
	int64_t asked_ms, wait_ms;
	const char *shape = NULL;
	char *why = NULL;
	int err, code = CTL_OK;

	make_params(&params, query);
	what.params = params.data;
	what.params_len = params.len;
	for (int left = QUEUED_TRIES;;) {
		ask_answer_free(&answer);
		asked_ms = conn_now_ms();
		err = ask(ctl, &what, &answer, NULL, &why);
		if (err || --left == 0 || !is_queued(&answer, conn_now_ms() - asked_ms, &wait_ms))
			break;
		poll(NULL, 0, (int)wait_ms);
	}
	if (err)
		code = unanswered(ctl, err, why, ret_why);
	else if (answer.error)
		code = refused(ctl, &answer, ret_why);
	else if (!report_read(ret, &answer, &shape)) {
		report_free(ret);
		code = unanswered(ctl, ERR_INTERNAL,
		    xasprintf("what the daemon answered is no report: %s", shape), ret_why);
	}
	ask_answer_free(&answer);
	buf_free(&params);
	return code;
}
