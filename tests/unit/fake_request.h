/*
 * Requests that a test makes and whose answers it keeps: the client's part, without a socket.
 * Included by the one source of a unit test.
 */
#ifndef EFFECTD_TESTS_FAKE_REQUEST_H
#define EFFECTD_TESTS_FAKE_REQUEST_H

#include "alloc.h"
#include "grant.h"
#include "loop.h"
#include "method.h"
#include "pgpool.h"
#include "pgpool_backoff.h"
#include "request.h"
#include "tap.h"

#include <string.h>

struct fake_request {
	struct request r;
	char *answer;	     /* owned; NULL: not answered */
	struct grant *grant; /* of its `run` line, referenced */
};

static struct config fake_config = {
    .request_timeout_ms = 60000, .unknown_tools = CONFIG_GUARD, .max_line = 1 << 20};
static struct access_grant fake_grants[] = {
    {"default", ACCESS_WRAPPER | ACCESS_OBSERVER | ACCESS_OPERATOR}};
static const struct access_peer fake_peer = {.uid = 7, .grants = fake_grants, .n_grants = 1};

/* What info says of the ledger: the pool is not linked in. */
const struct pgpool_status *
pgpool_status(void)
{
	static const struct pgpool_status down = {.error = "there is none"};

	return &down;
}

bool
pgpool_slow_busy(void)
{
	return false;
}

/* Where a probe would find it. */
const char *
pgpool_conninfo(void)
{
	return "";
}

/* Nor is anything executed there. */
int64_t
pgpool_backoff_ms(unsigned n_failures)
{
	(void)n_failures;
	return 0;
}

static void
fake_reply(struct request *r, const struct buf *line, struct grant *grant)
{
	struct fake_request *f = r->client;

	ck_assert_ptr_null(f->answer);
	ck_assert_ptr_null(r->call);
	ck_assert_uint_gt(line->len, 0);
	ck_assert_int_eq(line->data[line->len - 1], '\n');
	f->answer = xstrndup(line->data, line->len - 1);
	f->grant = grant ? grant_ref(grant) : NULL;
}

/* Calls `method` with these params; `connection` 1 and up. */
static inline struct fake_request *
fake_call(const char *method, const char *params, uint64_t connection)
{
	struct fake_request *f = xcalloc(1, sizeof(*f));

	f->r.line = xasprintf(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
	f->r.len = strlen(f->r.line);
	rpc_parse(&f->r.rpc, f->r.line, f->r.len);
	ck_assert_int_eq(f->r.rpc.error, 0);
	f->r.method = method_find(method);
	ck_assert_ptr_nonnull(f->r.method);
	f->r.peer = &fake_peer;
	f->r.connection = connection;
	f->r.received_ms = loop_now_ms();
	f->r.reply = fake_reply;
	f->r.client = f;
	f->r.method->call(&f->r);
	return f;
}

static inline void
fake_free(struct fake_request *f)
{
	ck_assert_ptr_null(f->r.call);
	rpc_line_free(&f->r.rpc);
	free(f->r.line);
	free(f->answer);
	grant_unref(f->grant);
	free(f);
}

/* The peer is gone before the answer. */
static inline void
fake_gone(struct fake_request *f)
{
	ck_assert_ptr_null(f->answer);
	f->r.method->gone(&f->r);
	fake_free(f);
}

static inline void
fake_answered(const struct fake_request *f, const char *part)
{
	ck_assert_msg(f->answer != NULL, "not answered, expected %s", part);
	ck_assert_msg(strstr(f->answer, part) != NULL, "%s is not in %s", part, f->answer);
}

static struct fake_request *fake_until;

static void
fake_until_hook(void)
{
	if (fake_until && fake_until->answer)
		loop_stop();
}

/* A loop and a config for one test. */
static inline void
fake_start(void)
{
	fake_config.request_timeout_ms = 60000;
	fake_config.unknown_tools = CONFIG_GUARD;
	loop_init();
	loop_add_pass_end(fake_until_hook);
}

/* Runs the loop until the request is answered. */
static inline void
fake_run_until_answered(struct fake_request *f)
{
	fake_until = f;
	if (!f->answer)
		loop_run();
	fake_until = NULL;
}

#endif
