/*
 * The life of a call, told in call.h. One heap of deadlines and one timer serve all calls; the
 * timer is armed for the earliest and left alone when that one is answered, since most calls are
 * answered long before.
 *
 * What a method means does not belong here. Owns the calls; the config and the policies are main's.
 */
#include "call.h"

#include "access.h"
#include "alloc.h"
#include "loop.h"
#include "rpc.h"
#include "stats.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECENT 4096 /* claims of which it is known what was counted of them */
#define RETRY_MS_MIN 200
#define RETRY_MS_MAX 1000

static const struct config *config;
static struct tool_set *tools;
static struct heap deadlines;
static struct loop_timer *timer;
static int64_t timer_at_ms = INT64_MAX;
static int64_t started_ms;

void
call_use(const struct config *new_config, struct tool_set *new_tools)
{
	if (!config)
		started_ms = loop_now_ms();
	config = new_config;
	tools = new_tools;
}

void
call_free(void)
{
	assert(!heap_first(&deadlines));
	loop_timer_free(timer);
	timer = NULL;
	timer_at_ms = INT64_MAX;
	heap_free(&deadlines);
	config = NULL;
	tools = NULL;
}

const struct config *
call_config(void)
{
	return config;
}

struct tool_set *
call_tools(void)
{
	return tools;
}

int64_t
call_started_ms(void)
{
	return started_ms;
}

static void
arm(void)
{
	struct heap_entry *first = heap_first(&deadlines);
	int64_t in_ms;

	if (!first || first->at_ms >= timer_at_ms)
		return;
	timer_at_ms = first->at_ms;
	in_ms = timer_at_ms - loop_now_ms();
	loop_timer_set(timer, in_ms > 0 ? in_ms : 0);
}

static void
call_late(struct call *c)
{
	call_clear_due(c);
	if (c->kind->late) {
		c->kind->late(c);
		return;
	}
	call_unavailable(c, NULL);
	if (call_take_back(c))
		call_end(c);
}

static void
call_timer_cb(void *arg)
{
	int64_t now_ms = loop_now_ms();
	struct heap_entry *first;

	(void)arg;
	timer_at_ms = INT64_MAX;
	while ((first = heap_first(&deadlines)) && first->at_ms <= now_ms)
		call_late((struct call *)(void *)((char *)first - offsetof(struct call, due)));
	arm();
}

void *
call_new(struct request *r, const struct call_kind *kind, size_t size, int64_t deadline_ms)
{
	struct call *c = xcalloc(1, size);

	assert(size >= sizeof(*c));
	c->kind = kind;
	c->r = r;
	r->call = c;
	call_set_due(c, deadline_ms);
	return c;
}

void
call_set_due(struct call *c, int64_t deadline_ms)
{
	if (!timer)
		timer = loop_timer_new(call_timer_cb, NULL);
	heap_remove(&deadlines, &c->due);
	c->due.at_ms = deadline_ms;
	heap_add(&deadlines, &c->due);
	arm();
}

void
call_clear_due(struct call *c)
{
	heap_remove(&deadlines, &c->due);
}

static void
call_done_cb(struct batch_item *item, int err, const struct batch_row *row)
{
	struct call *c = (struct call *)(void *)((char *)item - offsetof(struct call, item));

	assert(c->asked);
	c->asked = false;
	if (!err) {
		c->kind->row(c, row);
		return;
	}
	if (c->kind->failed) {
		c->kind->failed(c, err);
		return;
	}
	if (err == ERR_UNAVAILABLE)
		call_unavailable(c, NULL);
	else
		call_error(c, err, NULL);
	call_end(c);
}

void
call_ask(struct call *c, const struct batch_statement *statement, int64_t deadline_ms)
{
	assert(!c->asked);
	c->asked = true;
	c->item.statement = statement;
	c->item.deadline_ms = deadline_ms;
	c->item.done = call_done_cb;
	batch_add(&c->item);
}

bool
call_take_back(struct call *c)
{
	if (c->asked && batch_cancel(&c->item))
		c->asked = false;
	return !c->asked;
}

void
call_end(struct call *c)
{
	assert(!c->asked);
	heap_remove(&deadlines, &c->due);
	if (c->r)
		c->r->call = NULL;
	if (c->kind->clear)
		c->kind->clear(c);
	free(c);
}

int64_t
call_deadline(const struct request *r)
{
	return r->received_ms + config->request_timeout_ms;
}

int64_t
call_random(int64_t min, int64_t max)
{
	/* jitter only: nothing rests on its quality */
	return max > min ? min + (int64_t)((uint64_t)random() % (uint64_t)(max - min + 1)) : min;
}

int64_t
call_retry_after_ms(void)
{
	return call_random(RETRY_MS_MIN, RETRY_MS_MAX);
}

void
call_line(const struct request *r, struct buf *line)
{
	rpc_result_begin(line, r->rpc.id, r->rpc.id_len);
}

void
call_send(struct request *r, struct buf *line)
{
	rpc_result_end(line);
	r->reply(r, line, NULL);
	buf_free(line);
}

void
call_refuse(struct request *r, int err, const struct rpc_error_data *data)
{
	struct buf line = {0};

	call_log(r, NULL, "error", err_name(err));
	rpc_error(&line, r->rpc.id, r->rpc.id_len, err, NULL, data);
	r->reply(r, &line, NULL);
	buf_free(&line);
}

void
call_refuse_params(struct request *r, const struct param_fault *fault)
{
	struct rpc_error_data data = {.pointer = fault->pointer, .why = fault->why};
	char message[sizeof(fault->pointer) + sizeof(fault->why) + 16];
	struct buf line = {0};

	snprintf(message, sizeof(message), "params%s %s", fault->pointer, fault->why);
	call_log(r, NULL, "error", err_name(ERR_INVALID_PARAMS));
	rpc_error(&line, r->rpc.id, r->rpc.id_len, ERR_INVALID_PARAMS, message, &data);
	r->reply(r, &line, NULL);
	buf_free(&line);
}

bool
call_refuse_member(struct request *r, const char *pointer, const char *why)
{
	struct param_fault fault;

	params_fault(&fault, pointer, why);
	call_refuse_params(r, &fault);
	return false;
}

bool
call_params(struct request *r, const struct param *table, size_t n, void *ret)
{
	struct param_fault fault;

	if (!params_read(&r->rpc.doc, r->rpc.params, "", table, n, ret, &fault))
		return true;
	call_refuse_params(r, &fault);
	return false;
}

/* The request is about to be answered: it is no longer this call's. */
static struct request *
let_go(struct call *c)
{
	struct request *r = c->r;

	assert(r && r->call == c);
	call_clear_due(c);
	c->r = NULL;
	r->call = NULL;
	return r;
}

void
call_reply(struct call *c, struct buf *line, struct grant *grant)
{
	struct request *r = let_go(c);

	rpc_result_end(line);
	r->reply(r, line, grant);
	buf_free(line);
}

void
call_error(struct call *c, int err, const struct rpc_error_data *data)
{
	if (c->r)
		call_refuse(let_go(c), err, data);
}

void
call_unavailable(struct call *c, const bool *kept)
{
	struct rpc_error_data data = {.retry_after_ms = call_retry_after_ms()};

	if (kept) {
		data.has_kept = true;
		data.kept = *kept;
	}
	call_error(c, ERR_UNAVAILABLE, &data);
}

/* Has this been counted of the claim? Now it has. What was counted long ago is forgotten. */
static bool
counted_before(const struct uuid *token, const char *counted)
{
	static struct uuid recent[RECENT];
	struct uuid mark = *token;
	struct uuid *slot;

	/* the first word: a claim may be given up, and completed later */
	for (unsigned i = 0; i < sizeof mark.b && counted[i] && counted[i] != ':'; i++)
		mark.b[i] ^= (uint8_t)counted[i];
	slot = &recent[(mark.b[0] << 8 | mark.b[1]) % RECENT];
	if (memcmp(slot, &mark, sizeof mark) == 0)
		return true;
	*slot = mark;
	return false;
}

void
call_count(const struct batch_row *row, int column, const struct uuid *token)
{
	const char *counted = batch_text(row, column + 2, NULL);
	bool before = counted && *counted == '?';

	if (!counted || (before && !row->resent))
		return;
	if (token && counted_before(token, counted + before) && before)
		return;
	stats_count_all(batch_text(row, column, NULL), batch_text(row, column + 1, NULL), counted,
	    row->resent);
}

bool
call_answer_is(const struct batch_row *row, const char *word)
{
	const char *answer = batch_text(row, 1, NULL);

	return answer && strcmp(answer, word) == 0;
}

bool
call_error_row(struct call *c, const struct batch_row *row, int state_column, int attempt_column)
{
	struct rpc_error_data data = {.state = batch_text(row, state_column, NULL),
	    .attempt = batch_int4(row, attempt_column)};

	if (call_answer_is(row, "conflict"))
		call_error(c, ERR_CONFLICT, &data);
	else if (call_answer_is(row, "not_owner"))
		call_error(c, ERR_NOT_OWNER, &data);
	else if (call_answer_is(row, "not_found"))
		call_error(c, ERR_NOT_FOUND, NULL);
	else
		return false;
	return true;
}

void
call_strange_row(struct call *c, const struct batch_row *row)
{
	const char *answer = batch_text(row, 1, NULL);

	log_error("ledger", "\"%s\" answered \"%s\", telling its caller of an internal error",
	    c->item.statement->name, answer ? answer : "null");
	call_error(c, ERR_INTERNAL, NULL);
	call_end(c);
}

void
call_gone(struct request *r)
{
	struct call *c = r->call;

	if (!c)
		return;
	assert(c->r == r);
	(void)let_go(c);
	if (c->kind->gone)
		c->kind->gone(c);
	else if (call_take_back(c))
		call_end(c);
}

void
call_drain(struct request *r)
{
	struct call *c = r->call;

	if (c && c->kind->drain)
		c->kind->drain(c);
}

void
call_carry_on(struct call *c)
{
	if (!c->asked)
		call_end(c);
}

bool
call_log_start(struct log_line *l, const struct request *r)
{
	return config->log_calls && log_start(l, LOG_LEVEL_INFO, r->method->name);
}

void
call_log_cost(struct log_line *l, const struct request *r)
{
	log_int(l, "ms", loop_now_ms() - r->received_ms);
	log_int(l, "uid", r->peer->uid);
}

void
call_log(const struct request *r, const struct uuid *effect, const char *name, const char *value)
{
	char text[UUID_TEXT_BYTES];
	struct log_line l;

	if (!call_log_start(&l, r))
		return;
	if (effect) {
		uuid_text(effect, text);
		log_str(&l, "effect", text);
	}
	log_str(&l, name, value);
	call_log_cost(&l, r);
	log_end(&l);
}

char *
call_scope(struct request *r)
{
	struct buf scope = {0};
	char *text = NULL;

	access_scope(r->peer, r->method->roles, &scope);
	if (scope.len > 0)
		text = xstrndup(scope.data, scope.len);
	else
		call_refuse(r, ERR_DENIED, NULL);
	buf_free(&scope);
	return text;
}

const char *
call_namespace(struct request *r, const char *ns)
{
	struct param_fault fault;
	const char *meant;
	int err;

	err = access_namespace(r->peer, ns, r->method->roles, &meant);
	if (!err)
		return meant;
	if (err == ERR_INVALID_PARAMS) {
		params_fault(
		    &fault, "/namespace", "this peer has several namespaces, one must be named");
		call_refuse_params(r, &fault);
	} else {
		call_refuse(r, err, NULL);
	}
	return NULL;
}
