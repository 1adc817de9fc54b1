/*
 * What every method shares: the policies and configuration in force, and the life of a call that
 * asks the ledger.
 *
 * A call lives from call_new() until call_end(). Its request is answered at most once (call_reply,
 * call_error), by the ledger's answer, by its deadline or by a refusal; a call whose request is
 * answered or gone (c->r NULL) lives on for as long as its item is with the batch, since the answer
 * may tell of a claim that stands.
 */
#ifndef EFFECTD_CALL_H
#define EFFECTD_CALL_H

#include "batch.h"
#include "config.h"
#include "heap.h"
#include "log.h"
#include "params.h"
#include "request.h"
#include "tool.h"

struct call;

struct call_kind {
	/* The ledger answered. Ends the call, or asks again. */
	void (*row)(struct call *c, const struct batch_row *row);
	/* No answer will come. NULL: the error is told, and the call ends. */
	void (*failed)(struct call *c, int err);
	/* The deadline passed with nothing answered. NULL: `unavailable` is told and the item taken
	 * back, if it can be. */
	void (*late)(struct call *c);
	/* The peer is gone (c->r is NULL already). NULL: the item is taken back, if it can be. */
	void (*gone)(struct call *c);
	/* The daemon is stopping. NULL: nothing to do. */
	void (*drain)(struct call *c);
	/* Frees what the method's own struct owns, never the call. */
	void (*clear)(struct call *c);
};

/* The first member of a method's own struct. */
struct call {
	const struct call_kind *kind;
	struct request *r; /* NULL: answered, or the peer is gone */
	struct batch_item item;
	bool asked; /* the item is with the batch */
	struct heap_entry due;
};

/* At start, and after a reload. Both are borrowed for as long as they are in force. */
void call_use(const struct config *config, struct tool_set *tools);
/* At the end: no call may be left. */
void call_free(void);
const struct config *call_config(void);
struct tool_set *call_tools(void);
/* When call_use() was first called: the daemon's start. */
int64_t call_started_ms(void);

/* A call of `size` zeroed bytes whose first member is struct call. Its answer is due at deadline_ms
 * (loop clock). */
void *call_new(struct request *r, const struct call_kind *kind, size_t size, int64_t deadline_ms);
void call_set_due(struct call *c, int64_t deadline_ms);
void call_clear_due(struct call *c);
/* Puts the item, whose columns are filled, to the batch; it stays there until deadline_ms if it
 * cannot be sent. */
void call_ask(struct call *c, const struct batch_statement *statement, int64_t deadline_ms);
/* Takes the item back. True: it is no longer with the batch (now, or it never was). */
bool call_take_back(struct call *c);
/* Frees the call; the item must not be with the batch. */
void call_end(struct call *c);
/* For kind->gone: what is with the batch is carried out, though nobody waits for the answer. */
void call_carry_on(struct call *c);
/* `gone` and `drain` of every method (request.h). */
void call_gone(struct request *r);
void call_drain(struct request *r);

/* received_ms + request_timeout */
int64_t call_deadline(const struct request *r);
/* 200 to 1000 ms: when to ask again what could not be answered. */
int64_t call_retry_after_ms(void);
/* A random number from min to max. */
int64_t call_random(int64_t min, int64_t max);

/* The answer of a method that has no call (yet). `line` starts with call_line() and is closed and
 * freed by call_send(). */
void call_line(const struct request *r, struct buf *line);
void call_send(struct request *r, struct buf *line);
void call_refuse(struct request *r, int err, const struct rpc_error_data *data);
void call_refuse_params(struct request *r, const struct param_fault *fault);
/* The same for one member, by a rule that the table cannot say. Returns false, as what judges does.
 */
bool call_refuse_member(struct request *r, const char *pointer, const char *why);
/* params_read() of the request's params. False: they were refused. In every case params_clear()
 * frees. */
bool call_params(struct request *r, const struct param *table, size_t n, void *ret) must_check;

/* The same for a call: the request is then no longer the call's. */
void call_reply(struct call *c, struct buf *line, struct grant *grant);
void call_error(struct call *c, int err, const struct rpc_error_data *data);
void call_unavailable(struct call *c, const bool *kept);

/*
 * Answers `conflict`, `not_owner`, `not_found` of the ledger as the error they are (with state and
 * attempt, columns of the row). False: the answer is another one, nothing was told.
 */
bool call_error_row(
    struct call *c, const struct batch_row *row, int state_column, int attempt_column);
/*
 * Counts what the row says is to be counted; from `column` on stand namespace, tool, counted. What
 * was done before counts only if the item was sent before and may have done it itself, and of one
 * holder's claim once: `token` is the claim's, NULL = nobody's.
 */
void call_count(const struct batch_row *row, int column, const struct uuid *token);
/* Is the row's answer this word? */
bool call_answer_is(const struct batch_row *row, const char *word);
/* An answer that the signature does not know: our bug, or a newer schema. Logged, told as
 * `internal`; ends the call. */
void call_strange_row(struct call *c, const struct batch_row *row);

/*
 * The log line of one call (log_calls): false if it is not wanted; the method adds what it knows,
 * call_log_cost() how long it took and whose it was, log_end() ends it.
 */
bool call_log_start(struct log_line *l, const struct request *r);
void call_log_cost(struct log_line *l, const struct request *r);
/* A whole line: event, effect (may be NULL), and `name`=`value` of what was answered. */
void call_log(
    const struct request *r, const struct uuid *effect, const char *name, const char *value);

/* The scope of the peer for this request's method, owned. NULL: it has no namespace at all, and was
 * refused. */
char *call_scope(struct request *r) must_check;
/* The namespace meant by params `ns`; on failure the request was refused and NULL comes back. */
const char *call_namespace(struct request *r, const char *ns);

#endif
