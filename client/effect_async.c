/*
 * The calls that return at once: each makes its line, queues it, and is told of by
 * effect_dispatch(). What a struct of the caller's does not have yet (he was compiled against an
 * older header) is 0.
 */
#include "effect_call.h"
#include "effect_grant.h"
#include "effect_keep.h"
#include "effect_sys.h"

#include <string.h>

#define WAIT_MS 30000
#define BEGIN_TIMEOUT_MS 10000
#define COMPLETE_TIMEOUT_MS 60000
#define TIMEOUT_MS_MAX (INT64_C(1) << 40)

/* false: the host may not call now. */
static bool
enter(struct effect_ledger *ledger)
{
	effect_call_forked(ledger);
	if (!ledger->doomed)
		return true;
	effect_call_say(ledger, "the ledger is freed");
	return false;
}

/* What the caller's struct has of ours. */
static bool
copy_struct(struct effect_ledger *ledger, void *to, size_t size, const void *from)
{
	size_t theirs = from ? *(const size_t *)from : 0;

	memset(to, 0, size);
	if (theirs < sizeof theirs) {
		effect_call_say(ledger, "a struct without its size: use its macro");
		return false;
	}
	memcpy(to, from, theirs < size ? theirs : size);
	return true;
}

static int64_t
or_default(int64_t ms, int64_t fallback_ms)
{
	return ms <= 0 ? fallback_ms : ms > TIMEOUT_MS_MAX ? TIMEOUT_MS_MAX : ms;
}

/* Starts the call if its line could be made. */
static enum effect_kind
start(struct effect_call *call, enum effect_kind kind, int64_t timeout_ms, uint64_t *ret_call)
{
	struct effect_ledger *ledger = call->ledger;

	if (kind != EFFECT_OK) {
		effect_call_say(ledger, "%s",
		    kind != EFFECT_ENOMEM && call->why[0] ? call->why : effect_strerror(kind));
		effect_call_free(call);
		return kind;
	}
	if (ret_call)
		*ret_call = call->id;
	effect_call_start(call, timeout_ms);
	return EFFECT_OK;
}

static enum effect_kind
no_memory(struct effect_ledger *ledger)
{
	effect_call_say(ledger, "out of memory");
	return EFFECT_ENOMEM;
}

enum effect_kind
effect_begin_async(struct effect_ledger *ledger, const struct effect_params *params,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call)
{
	char request[EFFECT_UUID_BYTES];
	struct effect_params p;
	struct effect_call *call;
	enum effect_kind kind;
	int64_t wait_ms;

	if (!enter(ledger) || !copy_struct(ledger, &p, sizeof p, params))
		return EFFECT_MISUSE;
	if (effect_sys_now_ms() == EFFECT_SYS_NO_CLOCK || !effect_sys_uuid(request)) {
		effect_call_say(ledger, "%s", effect_strerror(EFFECT_ESYSTEM));
		return EFFECT_ESYSTEM;
	}
	wait_ms = p.wait_ms == EFFECT_NO_WAIT ? 0 : p.wait_ms == 0 ? WAIT_MS : p.wait_ms;
	call = effect_call_new(ledger, EFFECT_CALL_BEGIN, cb, arg);
	if (!call)
		return no_memory(ledger);
	call->lease_ms = p.lease_ms;
	kind = effect_line_begin(&call->line, call->id, request, &p, wait_ms, call->why);
	return start(call, kind,
	    or_default(p.begin_timeout_ms, BEGIN_TIMEOUT_MS) +
		(wait_ms > 0 && wait_ms < TIMEOUT_MS_MAX ? wait_ms : 0),
	    ret_call);
}

/* A call that reports on the grant; NULL: *ret_kind says why not. Ends the keeping of its lease. */
static struct effect_call *
report_new(struct effect_ledger *ledger, struct effect_answer *grant,
    enum effect_call_method method,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    enum effect_kind *ret_kind)
{
	struct effect_json_span effect, token;
	bool pass = effect_answer_kind(grant) == EFFECT_PASS;
	struct effect_call *call;

	*ret_kind = EFFECT_MISUSE;
	if (!enter(ledger))
		return NULL;
	if (!pass && !effect_grant_ids(grant, &effect, &token)) {
		effect_call_say(ledger, "report: this is no grant, or it was given back");
		return NULL;
	}
	effect_keep_stop(grant);
	call = effect_call_new(ledger, pass ? EFFECT_CALL_NOTHING : method, cb, arg);
	*ret_kind = call ? EFFECT_OK : no_memory(ledger);
	return call;
}

enum effect_kind
effect_complete_async(struct effect_ledger *ledger, struct effect_answer *grant,
    const struct effect_report *report,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call)
{
	struct effect_json_span effect, token;
	struct effect_call *call;
	struct effect_report r;
	enum effect_kind kind;

	if (!copy_struct(ledger, &r, sizeof r, report))
		return EFFECT_MISUSE;
	call = report_new(ledger, grant, EFFECT_CALL_COMPLETE, cb, arg, &kind);
	if (!call)
		return kind;
	if (call->method == EFFECT_CALL_NOTHING)
		return start(call, EFFECT_OK, 0, ret_call);
	effect_grant_ids(grant, &effect, &token);
	kind = effect_line_complete(
	    &call->line, call->id, &effect, &token, &r, ledger->max_line, call->why);
	return start(call, kind, or_default(r.complete_timeout_ms, COMPLETE_TIMEOUT_MS), ret_call);
}

static enum effect_kind
report_async(struct effect_ledger *ledger, struct effect_answer *grant,
    enum effect_call_method method, const char *reason,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call)
{
	struct effect_json_span effect, token;
	struct effect_call *call;
	enum effect_kind kind;

	call = report_new(ledger, grant, method, cb, arg, &kind);
	if (!call)
		return kind;
	if (call->method == EFFECT_CALL_NOTHING)
		return start(call, EFFECT_OK, 0, ret_call);
	effect_grant_ids(grant, &effect, &token);
	kind = effect_line_report(&call->line, call->id,
	    method == EFFECT_CALL_RELEASE ? "release" : "unknown", &effect, &token, reason);
	return start(call, kind, ledger->report_timeout_ms, ret_call);
}

enum effect_kind
effect_release_async(struct effect_ledger *ledger, struct effect_answer *grant, const char *reason,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call)
{
	return report_async(ledger, grant, EFFECT_CALL_RELEASE, reason, cb, arg, ret_call);
}

enum effect_kind
effect_unknown_async(struct effect_ledger *ledger, struct effect_answer *grant, const char *reason,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call)
{
	return report_async(ledger, grant, EFFECT_CALL_UNKNOWN, reason, cb, arg, ret_call);
}

enum effect_kind
effect_extend_async(struct effect_ledger *ledger, struct effect_answer *grant, int64_t lease_ms,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call)
{
	if (!enter(ledger))
		return EFFECT_MISUSE;
	return effect_keep_extend(ledger, grant, lease_ms, cb, arg, ret_call);
}

enum effect_kind
effect_call_async(struct effect_ledger *ledger, const char *method, const char *params,
    int64_t timeout_ms, void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg),
    void *arg, uint64_t *ret_call)
{
	struct effect_call *call;

	if (!enter(ledger))
		return EFFECT_MISUSE;
	if (method && strcmp(method, "begin") == 0) {
		effect_call_say(ledger, "begin has calls of its own");
		return EFFECT_MISUSE;
	}
	call = effect_call_new(ledger, EFFECT_CALL_OTHER, cb, arg);
	if (!call)
		return no_memory(ledger);
	return start(call, effect_line_other(&call->line, call->id, method, params, call->why),
	    or_default(timeout_ms, BEGIN_TIMEOUT_MS), ret_call);
}

bool
effect_cancel(struct effect_ledger *ledger, uint64_t call)
{
	struct effect_call *found;

	if (!enter(ledger))
		return false;
	found = effect_call_of_caller(ledger, call);
	if (!found)
		return false;
	if (found->background)
		found->cb = NULL; /* it is being given back, and goes on */
	else
		effect_call_drop(found);
	return true;
}

enum effect_kind
effect_start(struct effect_ledger *ledger, struct effect_answer *grant)
{
	enum effect_kind kind = effect_answer_kind(grant);

	effect_call_forked(ledger);
	if (kind == EFFECT_RUN && grant->grant.pid != ledger->pid) {
		effect_call_say(ledger, "start: this grant is another process's");
		return EFFECT_MISUSE;
	}
	if (kind == EFFECT_RUN && effect_fresh_ms(grant) == 0) {
		effect_grant_give_back(grant, "it was not started in time");
		effect_call_say(ledger, "start: %s", effect_strerror(EFFECT_LATE));
		kind = EFFECT_LATE;
	}
	if (kind == EFFECT_RUN || kind == EFFECT_PASS || kind == EFFECT_LATE)
		return kind;
	effect_call_say(ledger, "start: this is no grant");
	return EFFECT_MISUSE;
}

int64_t
effect_fresh_ms(const struct effect_answer *grant)
{
	int64_t left_ms;

	if (effect_answer_kind(grant) != EFFECT_RUN)
		return 0;
	left_ms = grant->grant.fresh_until_ms - effect_sys_now_ms();
	return left_ms > 0 ? left_ms : 0;
}

int64_t
effect_lease_left_ms(const struct effect_answer *grant)
{
	int64_t left_ms;

	if (effect_answer_kind(grant) != EFFECT_RUN || grant->grant.lost)
		return 0;
	left_ms = grant->grant.lease_until_ms - effect_sys_now_ms();
	return left_ms > 0 ? left_ms : 0;
}
