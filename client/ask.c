/*
 * The conversation with the daemon. Promise: the line that is sent again is the same to the byte
 * (same `request`, same token), so that asking again can never claim or record twice; and an end
 * comes by the deadline. What answers mean does not belong here. An answer owns its line and its
 * scan.
 */
#include "ask.h"

#include "alloc.h"
#include "config.h"
#include "conn.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_GRACE_MS \
	1000 /* the daemon's own deadline may be as long as ours; its word is better than none */
#define PAUSE_MS_MIN 50
#define PAUSE_MS_MAX 1000

char *
ask_text(const struct ask_answer *answer, uint32_t object, const char *name)
{
	uint32_t node = json_member(&answer->doc, object, name);
	size_t len;
	char *text;

	if (!node || answer->doc.nodes[node].type != JSON_STRING)
		return NULL;
	text = json_string(&answer->doc, node, &len);
	if (strlen(text) == len)
		return text;
	free(text);
	return NULL;
}

bool
ask_int(const struct ask_answer *answer, uint32_t object, const char *name, int64_t *ret)
{
	uint32_t node = json_member(&answer->doc, object, name);

	return node && answer->doc.nodes[node].type == JSON_NUMBER &&
	    json_int(&answer->doc, node, ret);
}

bool
ask_true(const struct ask_answer *answer, uint32_t object, const char *name)
{
	uint32_t node = json_member(&answer->doc, object, name);

	return node && answer->doc.nodes[node].type == JSON_TRUE;
}

uint32_t
ask_first(const struct ask_answer *answer, uint32_t object, const char *name)
{
	uint32_t list = json_member(&answer->doc, object, name);

	return list && answer->doc.nodes[list].n_children ? list + 1 : 0;
}

const char *
ask_raw(const struct ask_answer *answer, uint32_t node, size_t *ret_len)
{
	const struct json_node *n = &answer->doc.nodes[node];

	*ret_len = n->end - n->start;
	return answer->line.data + n->start;
}

void
ask_answer_free(struct ask_answer *answer)
{
	json_free(&answer->doc);
	buf_free(&answer->line);
	*answer = (struct ask_answer){0};
}

/* Is the line an answer at all? Fills the nodes. Faults inside values are for people to see, not a
 * reason to be deaf. */
static bool
understand(struct ask_answer *answer, const char *opaque)
{
	if (answer->line.len == 0 ||
	    json_scan(&answer->doc, answer->line.data, answer->line.len, opaque, NULL) ==
		ERR_PARSE ||
	    answer->doc.n_nodes == 0)
		return false;
	answer->result = json_member(&answer->doc, 0, "result");
	answer->error = json_member(&answer->doc, 0, "error");
	return (answer->result == 0) != (answer->error == 0);
}

static char *
socket_path(const struct ctl *ctl)
{
	return ctl->socket ? xstrdup(ctl->socket) : config_default_socket();
}

static void
make_line(const struct ask *what, struct buf *out)
{
	buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":");
	buf_json_string(out, what->method, strlen(what->method));
	buf_add_str(out, ",\"params\":");
	buf_add(out, what->params, what->params_len);
	buf_add_str(out, "}\n");
}

void
ask_early(const struct ctl *ctl, const struct ask *what, struct ask_early *ret)
{
	char *path = socket_path(ctl);
	int64_t until_ms = conn_now_ms() + what->deadline_ms;
	struct buf line = {0};

	make_line(what, &line);
	ret->sent_ms = conn_now_ms();
	if (conn_open(&ret->conn, path, until_ms) ||
	    conn_send(&ret->conn, line.data, line.len, until_ms))
		conn_close(&ret->conn);
	buf_free(&line);
	free(path);
}

/* One connection, one line, one answer, unless the line was sent before. *ret_sent turns true as
 * soon as a byte may have left. */
static int
try_once(const char *path, const struct buf *line, const struct ask *what, int64_t until_ms,
    struct ask_answer *ret, bool *ret_sent, char **ret_why)
{
	bool early = what->early && what->early->conn.fd >= 0;
	struct conn conn;
	int err = 0;

	if (early) {
		conn = what->early->conn;
		what->early->conn = (struct conn){.fd = -1};
	} else {
		err = conn_open(&conn, path, until_ms);
	}
	if (err)
		goto out;
	*ret_sent = true;
	ret->sent_ms = early ? what->early->sent_ms : conn_now_ms();
	if (!early && (err = conn_send(&conn, line->data, line->len, until_ms)))
		goto out;
	/* nothing else was asked on this connection, so that the first line is the answer, also one
	 * without our id */
	if ((err = conn_recv(&conn, &ret->line, until_ms)))
		goto out;
	if (!understand(ret, what->opaque)) {
		*ret_why =
		    xasprintf("what answers at \"%s\" does not speak effectd's protocol", path);
		conn_close(&conn);
		return ERR_INTERNAL;
	}
out:
	if (err)
		*ret_why = xasprintf("%s (socket \"%s\")", conn.why, path);
	conn_close(&conn);
	return err;
}

/* `unavailable`: nothing was told, the same line may be sent again. Fills the pause that the daemon
 * asks for. */
static bool
says_unavailable(const struct ask_answer *answer, int64_t *ret_pause_ms)
{
	int64_t code, pause_ms;
	uint32_t data;

	if (!answer->error || !ask_int(answer, answer->error, "code", &code) ||
	    code != err_code(ERR_UNAVAILABLE))
		return false;
	data = json_member(&answer->doc, answer->error, "data");
	if (data && ask_int(answer, data, "retry_after_ms", &pause_ms) && pause_ms > 0)
		*ret_pause_ms = pause_ms;
	return true;
}

/* Waits before the next try; false if that would be past the deadline. */
static bool
pause_before(int64_t pause_ms, int64_t until_ms)
{
	int64_t left_ms = until_ms - conn_now_ms();

	if (left_ms <= 0)
		return false;
	/* a last try right before the deadline is better than none */
	if (pause_ms > left_ms)
		pause_ms = left_ms - 1;
	if (pause_ms > PAUSE_MS_MAX)
		pause_ms = PAUSE_MS_MAX;
	poll(NULL, 0, (int)pause_ms);
	return true;
}

int
ask(const struct ctl *ctl, const struct ask *what, struct ask_answer *ret, bool *ret_sent,
    char **ret_why)
{
	char *path = socket_path(ctl);
	int64_t until_ms = conn_now_ms() + what->deadline_ms;
	int64_t backoff_ms = PAUSE_MS_MIN, pause_ms;
	struct buf line = {0};
	bool again, sent = false;
	char *why = NULL;
	int err;

	make_line(what, &line);
	do {
		free(why);
		why = NULL;
		ask_answer_free(ret);
		pause_ms = backoff_ms;
		err = try_once(path, &line, what, until_ms + ANSWER_GRACE_MS, ret, &sent, &why);
		again = err == ERR_UNAVAILABLE || (!err && says_unavailable(ret, &pause_ms));
		again = again && (what->again == ASK_ALWAYS || (what->again == ASK_SENT && sent));
		backoff_ms *= 2;
	} while (again && pause_before(pause_ms, until_ms));
	if (ret_sent)
		*ret_sent = sent;
	if (err)
		*ret_why = why;
	buf_free(&line);
	free(path);
	return err;
}
