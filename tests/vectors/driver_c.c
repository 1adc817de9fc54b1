/*
 * libeffect's driver for wrapper.json (README.md): reads cases on stdin, makes the guarded calls by
 * the calls for event loops, says what the caller got. All calls of all cases run in one poll()
 * loop; ledgers stay open to the end, as what a caller has left behind goes on in them.
 *
 * Of libeffect only effect.h is used; the daemon's scanner reads the cases.
 */
#include "alloc.h"
#include "buf.h"
#include "effect.h"
#include "json.h"

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_MS 3
#define READ_BYTES 65536

enum stage { STAGE_BEGIN, STAGE_FN, STAGE_REPORT, STAGE_OVER };

/* One case: its line, its ledger and its calls. */
struct play {
	struct play *next;
	struct buf text;
	struct json_doc doc;
	struct effect_ledger *ledger;
	struct one *ones;
	unsigned n_ones, n_begun;
	bool at_once, told;
};

/* One guarded call. */
struct one {
	struct play *play;
	uint32_t node; /* of its object in the case */
	enum stage stage;
	uint64_t call; /* begin's, to be cancelled */
	struct effect_answer *answer;
	enum effect_kind fn_kind; /* what fn came to */
	bool ran, lost, cancelled;
	struct buf value, line;
};

static struct play *plays;

/* ---- reading a case ---- */

static char *
text_of(const struct one *one, uint32_t object, const char *name)
{
	uint32_t node = json_member(&one->play->doc, object, name);
	size_t len;
	char *text;

	if (!node || one->play->doc.nodes[node].type == JSON_NULL)
		return NULL;
	if (one->play->doc.nodes[node].type != JSON_STRING)
		errx(65, "%s is no string", name);
	text = json_string(&one->play->doc, node, &len);
	for (size_t i = 0; i < len; i++) /* an error's text in C has no NUL */
		if (text[i] == '\0')
			text[i] = ' ';
	return text;
}

static void
raw_of(const struct one *one, uint32_t node, struct buf *to)
{
	const struct json_node *n = &one->play->doc.nodes[node];

	buf_add(to, one->play->doc.text + n->start, n->end - n->start);
}

static int64_t
int_of(const struct one *one, const char *object, const char *name, int64_t fallback)
{
	const struct json_doc *doc = &one->play->doc;
	uint32_t node = json_member(doc, one->node, object);
	int64_t value;

	node = node ? json_member(doc, node, name) : 0;
	return node && json_int(doc, node, &value) ? value : fallback;
}

static uint32_t
fn_of(const struct one *one)
{
	return json_member(&one->play->doc, one->node, "fn");
}

static bool
is_there(char *path)
{
	bool there = path && access(path, F_OK) == 0;

	free(path);
	return there;
}

/* ---- telling what came of it ---- */

static void
tell_line(struct play *play)
{
	struct buf line = {0};

	buf_add_str(&line, "{\"name\":");
	raw_of(&play->ones[0], json_member(&play->doc, 0, "name"), &line);
	buf_add_str(&line, ",");
	buf_add(&line, play->ones[0].line.data, play->ones[0].line.len);
	if (play->n_ones > 1)
		buf_add_str(&line, ",\"more\":[");
	for (unsigned i = 1; i < play->n_ones; i++) {
		buf_add_str(&line, i > 1 ? ",{" : "{");
		buf_add(&line, play->ones[i].line.data, play->ones[i].line.len);
		buf_add_str(&line, "}");
	}
	buf_add_str(&line, play->n_ones > 1 ? "]}\n" : "}\n");
	for (size_t done = 0; done < line.len;) {
		ssize_t n = write(STDOUT_FILENO, line.data + done, line.len - done);

		if (n < 0)
			err(74, "stdout");
		done += (size_t)n;
	}
	buf_free(&line);
}

static void begin(struct one *one);

/* Its caller has got what he gets. */
static void
over(struct one *one)
{
	struct play *play = one->play;
	bool all = true;

	if (one->lost)
		buf_add_str(&one->line, ",\"lost\":true");
	one->stage = STAGE_OVER;
	effect_answer_free(one->answer);
	one->answer = NULL;
	if (!play->at_once && play->n_begun < play->n_ones)
		begin(&play->ones[play->n_begun++]);
	for (unsigned i = 0; i < play->n_ones; i++)
		all = all && play->ones[i].stage == STAGE_OVER;
	if (all && !play->told) {
		play->told = true;
		tell_line(play);
	}
}

static void
add_value(struct one *one)
{
	if (one->value.len > 0)
		buf_json_member_raw(&one->line, "value", one->value.data, one->value.len);
}

static void
got_value(struct one *one)
{
	buf_add_str(&one->line, "\"got\":\"value\",\"replayed\":false");
	add_value(one);
	over(one);
}

static void
got_replay(struct one *one)
{
	size_t len = 0;
	const char *raw = effect_answer_raw(one->answer, "result", &len);

	buf_add_str(&one->line, "\"got\":\"value\",\"replayed\":true");
	buf_json_member_raw(&one->line, "value", raw, len);
	buf_json_member(&one->line, "raw");
	buf_json_string(&one->line, raw, len);
	over(one);
}

/* "OfTheFuture" of "of_the_future". */
static void
camel(const char *name, char *to, size_t size)
{
	bool up = true;
	size_t n = 0;

	for (; *name && n + 1 < size; name++) {
		if (*name != '_')
			to[n++] = up && *name >= 'a' && *name <= 'z' ? (char)(*name - 32) : *name;
		up = *name == '_';
	}
	to[n] = '\0';
}

static void
got_error(struct one *one, const char *kind, const char *text)
{
	static const char *const members[] = {"advice", "pointer", "why"};

	buf_add_str(&one->line, "\"got\":\"error\"");
	buf_json_member_str(&one->line, "kind", kind);
	buf_json_member_str(&one->line, "text", text ? text : "");
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		const char *member = effect_answer_text(one->answer, members[i]);

		if (member)
			buf_json_member_str(&one->line, members[i], member);
	}
	add_value(one);
	over(one);
}

/* begin said why not, or what went wrong. */
static void
got_refusal(struct one *one, enum effect_kind kind)
{
	const char *name = effect_answer_text(one->answer, "name"), *raw;
	char spelt[64];
	size_t len;

	camel(name ? name : effect_kind_name(kind), spelt, sizeof spelt);
	if (kind == EFFECT_FAILED) {
		buf_add_str(&one->line, "\"replayed\":true,");
		raw = effect_answer_raw(one->answer, "result", &len);
		if (raw)
			buf_add(&one->value, raw, len);
	}
	got_error(one, kind == EFFECT_UNAVAILABLE ? effect_kind_name(kind) : spelt,
	    effect_error(one->play->ledger));
}

/* ---- the guarded call ---- */

static void
reported_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct one *one = arg;
	char *text = text_of(one, fn_of(one), "text");

	effect_answer_free(answer);
	if (one->fn_kind == EFFECT_NOT_SENT || one->fn_kind == EFFECT_RAISED)
		got_error(one,
		    one->cancelled			? "Cancelled"
			: one->fn_kind == EFFECT_RAISED ? "Own"
							: "NotSent",
		    text);
	else if (kind != EFFECT_OK)
		got_error(one, effect_kind_name(kind), effect_error(one->play->ledger));
	else if (one->fn_kind == EFFECT_OK)
		got_value(one);
	else
		got_error(one, effect_kind_name(one->fn_kind), text);
	free(text);
}

static void
must(struct one *one, enum effect_kind kind)
{
	if (kind != EFFECT_OK)
		errx(70, "%s: %s", effect_kind_name(kind), effect_error(one->play->ledger));
}

static void
complete(struct one *one, enum effect_outcome outcome, const char *result, size_t len)
{
	struct effect_report report =
	    EFFECT_REPORT(.outcome = outcome, .result = result, .result_len = len,
		.complete_timeout_ms = int_of(one, "options", "complete_timeout_ms", 0));

	must(one,
	    effect_complete_async(one->play->ledger, one->answer, &report, reported_cb, one, NULL));
}

static void
fn_returns(struct one *one)
{
	uint32_t node = json_member(&one->play->doc, fn_of(one), "value");
	int64_t bytes = int_of(one, "fn", "bytes", -1);

	one->fn_kind = EFFECT_OK;
	if (json_member(&one->play->doc, fn_of(one), "odd")) {
		buf_add_str(&one->value, "\"odd\"");
		complete(one, EFFECT_OUTCOME_SUCCEEDED, "\xff\xfe no JSON", 10);
		return;
	}
	if (bytes >= 0) {
		buf_add_char(&one->value, '"');
		for (int64_t i = 0; i < bytes; i++)
			buf_add_char(&one->value, 'x');
		buf_add_char(&one->value, '"');
	} else if (node) {
		raw_of(one, node, &one->value);
	}
	complete(
	    one, EFFECT_OUTCOME_SUCCEEDED, one->value.len ? one->value.data : NULL, one->value.len);
}

/* What fn does when it has waited. */
static void
fn_ends(struct one *one)
{
	char *does = text_of(one, fn_of(one), "does"), *text = text_of(one, fn_of(one), "text");
	uint32_t value = json_member(&one->play->doc, fn_of(one), "value");
	struct effect_ledger *ledger = one->play->ledger;
	bool failed = strcmp(does, "fail") == 0;

	one->stage = STAGE_REPORT;
	if (one->cancelled) {
		one->fn_kind = EFFECT_RAISED;
		must(one,
		    effect_unknown_async(
			ledger, one->answer, "cancelled by its caller", reported_cb, one, NULL));
	} else if (strcmp(does, "return") == 0) {
		fn_returns(one);
	} else if (failed || strcmp(does, "tool_error") == 0) {
		one->fn_kind = failed ? EFFECT_FAILED : EFFECT_TOOL_ERROR;
		if (failed)
			buf_add_str(&one->line, "\"replayed\":false,");
		if (value)
			raw_of(one, value, &one->value);
		complete(one, failed ? EFFECT_OUTCOME_FAILED : EFFECT_OUTCOME_ERROR,
		    value ? one->value.data : NULL, one->value.len);
	} else if (strcmp(does, "not_sent") == 0) {
		one->fn_kind = EFFECT_NOT_SENT;
		must(one, effect_release_async(ledger, one->answer, text, reported_cb, one, NULL));
	} else { /* raise, time_out */
		one->fn_kind = EFFECT_RAISED;
		must(one,
		    effect_unknown_async(
			ledger, one->answer, text ? text : "timed out", reported_cb, one, NULL));
	}
	free(does);
	free(text);
}

static void
lost_cb(struct effect_answer *grant, void *arg)
{
	struct one *one = arg;

	(void)grant;
	one->lost = true;
}

/* The line that says that fn was called. */
static void
note(struct one *one)
{
	char *path = text_of(one, one->node, "calls");
	const char *key = effect_answer_text(one->answer, "provider_key");
	int64_t attempt = effect_answer_int(one->answer, "attempt", 0);
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	struct buf line = {0};

	if (key)
		buf_printf(
		    &line, "{\"attempt\":%lld,\"provider_key\":\"%s\"}\n", (long long)attempt, key);
	else
		buf_add_str(&line, "{}\n");
	if (fd < 0 || write(fd, line.data, line.len) != (ssize_t)line.len)
		err(74, "%s", path);
	close(fd);
	buf_free(&line);
	free(path);
}

static void
begun_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct one *one = arg;

	one->answer = answer;
	if (kind == EFFECT_RUN || kind == EFFECT_PASS)
		kind = effect_start(one->play->ledger, answer);
	if (kind == EFFECT_REPLAY) {
		got_replay(one);
	} else if (kind != EFFECT_RUN && kind != EFFECT_PASS) {
		got_refusal(one, kind);
	} else {
		if (kind == EFFECT_RUN)
			must(one, effect_keep(one->play->ledger, answer, lost_cb, one));
		note(one);
		one->ran = true;
		one->stage = STAGE_FN;
	}
}

static void
begin(struct one *one)
{
	const struct json_doc *doc = &one->play->doc;
	uint32_t node = json_member(doc, one->node, "params");
	int64_t wait_ms = int_of(one, "options", "wait_ms", -1);
	struct effect_params params = EFFECT_PARAMS(.tool = text_of(one, node, "tool"),
	    .begin_timeout_ms = int_of(one, "options", "begin_timeout_ms", 0),
	    .lease_ms = int_of(one, "params", "lease_ms", 0));
	static const char *const once[] = {"tool", "lease_ms"};
	struct buf members = {0};
	bool named;

	params.wait_ms = wait_ms < 0 ? 0 : wait_ms == 0 ? EFFECT_NO_WAIT : wait_ms;
	/* the rest as it stands, so that an integer stays one */
	buf_add_str(&members, "{");
	for (uint32_t m = node + 1; doc->nodes[node].n_children && m; m = doc->nodes[m].next) {
		char *name = json_name(doc, m, NULL);

		named = strcmp(name, once[0]) == 0 || strcmp(name, once[1]) == 0;
		free(name);
		if (named)
			continue;
		buf_add_str(&members, members.len > 1 ? "," : "");
		buf_add(&members, doc->text + doc->nodes[m].name_start,
		    doc->nodes[m].name_end - doc->nodes[m].name_start);
		buf_add_str(&members, ":");
		raw_of(one, m, &members);
	}
	buf_add_str(&members, "}");
	params.members = buf_str(&members);
	one->stage = STAGE_BEGIN;
	must(one, effect_begin_async(one->play->ledger, &params, begun_cb, one, &one->call));
	free((char *)params.tool);
	buf_free(&members);
}

/* ---- the loop ---- */

/* Whatever does not come from the ledger: files, and the end of fn. */
static void
look(struct one *one)
{
	char *until = text_of(one, fn_of(one), "until");

	if (!one->cancelled && is_there(text_of(one, one->node, "cancel_file"))) {
		one->cancelled = true;
		if (one->stage == STAGE_BEGIN && effect_cancel(one->play->ledger, one->call))
			got_error(one, "Cancelled", "given up");
	}
	if (one->stage == STAGE_FN &&
	    (one->cancelled ||
		(until ? strcmp(until, "lost") == 0 && one->lost
		       : !json_member(&one->play->doc, fn_of(one), "until_file") ||
			    is_there(text_of(one, fn_of(one), "until_file")))))
		fn_ends(one);
	free(until);
}

static struct play *
play_new(const char *text, size_t len)
{
	struct play *play = xcalloc(1, sizeof *play);
	struct effect_options options = EFFECT_OPTIONS_INIT;
	uint32_t more, node;

	buf_add(&play->text, text, len);
	/* a lone half of a surrogate is a fault, and readable */
	if (json_scan(&play->doc, play->text.data, len, NULL, NULL) == ERR_PARSE)
		errx(65, "a case that is no JSON");
	more = json_member(&play->doc, 0, "more");
	play->n_ones = 1 + (more ? play->doc.nodes[more].n_children : 0);
	play->ones = xcalloc(play->n_ones, sizeof *play->ones);
	for (unsigned i = 0; i < play->n_ones; i++)
		play->ones[i].play = play;
	node = more + 1;
	for (unsigned i = 1; i < play->n_ones; i++) {
		play->ones[i].node = node;
		node = play->doc.nodes[node].next;
	}
	node = json_member(&play->doc, 0, "at_once");
	play->at_once = node && play->doc.nodes[node].type == JSON_TRUE;
	options.socket = text_of(&play->ones[0], 0, "socket");
	options.report_timeout_ms = int_of(&play->ones[0], "options", "report_timeout_ms", 0);
	play->ledger = effect_new(&options);
	if (!play->ledger)
		errx(71, "out of memory");
	free((char *)options.socket);
	play->next = plays;
	plays = play;
	do
		begin(&play->ones[play->n_begun++]);
	while (play->at_once && play->n_begun < play->n_ones);
	return play;
}

static void
play_free(struct play *play)
{
	effect_free(play->ledger);
	for (unsigned i = 0; i < play->n_ones; i++) {
		effect_answer_free(play->ones[i].answer);
		buf_free(&play->ones[i].value);
		buf_free(&play->ones[i].line);
	}
	json_free(&play->doc);
	buf_free(&play->text);
	free(play->ones);
	free(play);
}

/* One poll() over stdin (unless it has ended) and all ledgers. True: stdin has something to read.
 */
static bool
turn(bool with_stdin)
{
	struct pollfd fds[1 + 1024] = {{.fd = with_stdin ? STDIN_FILENO : -1, .events = POLLIN}};
	struct play *of[1 + 1024];
	int timeout_ms = -1;
	nfds_t n = 1;

	for (struct play *play = plays; play && n < 1024; play = play->next) {
		int due_ms = effect_timeout_ms(play->ledger);

		fds[n] = (struct pollfd){
		    .fd = effect_fd(play->ledger), .events = (short)effect_events(play->ledger)};
		of[n++] = play;
		if (due_ms >= 0 && (timeout_ms < 0 || due_ms < timeout_ms))
			timeout_ms = due_ms;
		if (!play->told && (timeout_ms < 0 || timeout_ms > POLL_MS))
			timeout_ms = POLL_MS;
	}
	if (poll(fds, n, timeout_ms) < 0)
		err(71, "poll");
	for (nfds_t i = 1; i < n; i++) {
		effect_dispatch(of[i]->ledger, fds[i].revents);
		for (unsigned k = 0; k < of[i]->n_begun; k++)
			look(&of[i]->ones[k]);
	}
	return fds[0].revents != 0;
}

static bool
all_told(void)
{
	for (struct play *play = plays; play; play = play->next)
		if (!play->told)
			return false;
	return true;
}

int
main(void)
{
	struct buf in = {0};
	char data[READ_BYTES];
	bool ended = false;
	struct play *play;
	char *lf;
	ssize_t n;

	while (!ended || !all_told()) {
		if (!turn(!ended))
			continue;
		n = read(STDIN_FILENO, data, sizeof data);
		ended = n <= 0;
		buf_add(&in, data, n > 0 ? (size_t)n : 0);
		while (in.len > 0 && (lf = memchr(in.data, '\n', in.len))) {
			size_t len = (size_t)(lf - in.data);

			play_new(in.data, len);
			in.len -= len + 1;
			memmove(in.data, lf + 1, in.len);
		}
	}
	while ((play = plays)) {
		plays = play->next;
		play_free(play);
	}
	buf_free(&in);
	return 0;
}
