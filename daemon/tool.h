/*
 * Tool policies: the *.json of tools.d, read all-or-nothing into an immutable set; effective
 * policies and their versions. A set is replaced as a whole at reload; a policy is
 * reference-counted, because rows in flight outlive a reload. Pure but for reading the folder.
 * Knows no ledger.
 */
#ifndef EFFECTD_TOOL_H
#define EFFECTD_TOOL_H

#include "buf.h"
#include "errors.h"
#include "key.h"
#include "tool_finding.h"

#include <stdbool.h>
#include <stdint.h>

enum tool_class { TOOL_READ, TOOL_OVERWRITE, TOOL_NATURAL, TOOL_ACCUMULATE, TOOL_IRREVERSIBLE };

struct probe_http_spec;
struct probe_sql_spec;
struct execute_spec;
struct reconcile_spec;

/* A list of RFC 6901 pointers (or argv). */
struct tool_list {
	char **items;
	size_t n;
};

/*
 * An effective policy: every default filled in, bound to one namespace.
 *
 * `json` is what goes into effect.tool and what SQL parses: RFC 8785, members as in the file.
 * Always there: name, namespace, class, key (strings), ignore, secret, result_secret, keep (arrays
 * of pointers), lease, hold_max, settle, probe_timeout, escalate_after, keep_result, keep_key
 * (durations), probe_backoff (array of durations), max_attempts, absent_needed, result_max
 * (integers), on_error ("unknown", "failed", "released"), on_unknown ("probe", "human", "retry").
 * Only if there is one: retry_window (duration), probe ({"exec": {"argv": [strings]}}, or {"http":
 * ...} or {"sql": ...} as in the file), turn_budget, turn_asks (integers); provider_key_to (a
 * pointer); business_key (array of pointers), and with it business_window (duration) and
 * on_business_duplicate ("report", "hold"); execute (object, its defaults filled in); reconcile
 * (object, as in the file). A duration is a string
 * `[0-9]{1,9}(ms|s|m|h|d)` in the largest unit that divides it, so 60 s is "1m", 24 h is "1d",
 * nothing is "0s".
 */
struct tool_policy {
	unsigned refs;
	char *ns, *name;
	enum tool_class class;
	bool guarded; /* class is accumulate or irreversible: keyed; otherwise begin answers pass */
	struct key_template *key; /* never NULL, the default template if the file names none */
	bool has_key;		  /* the file named one (else the default template) */
	struct tool_list ignore, secret, result_secret, keep;
	char *provider_key_to; /* where the args take the provider key; NULL: nowhere */
	struct tool_list
	    fingerprint_skip; /* ignore, secret, provider_key_to: what canon_value leaves out */
	int64_t lease_ms, hold_max_ms, settle_ms, probe_timeout_ms, escalate_after_ms,
	    keep_result_ms, keep_key_ms;
	int64_t retry_window_ms; /* 0: none; there is one if and only if on_unknown is "retry" */
	int64_t *probe_backoff_ms;
	size_t n_probe_backoff;
	int32_t max_attempts, absent_needed;
	int32_t turn_budget, turn_asks; /* 0: none */
	int64_t result_max_bytes;
	struct tool_list business_key;
	struct key_template *business; /* makes its text, as a key is made; NULL: no guard */
	int64_t business_window_ms;
	const char *on_business_duplicate;  /* "report", "hold" */
	const char *on_error;		    /* "unknown", "failed", "released" */
	const char *on_unknown;		    /* "probe", "human", "retry" */
	struct tool_list probe_exec;	    /* argv; n = 0: no exec probe */
	struct probe_http_spec *probe_http; /* NULL: no http probe */
	struct probe_sql_spec *probe_sql;   /* NULL: no sql probe */
	struct execute_spec *execute;	    /* NULL: its calls are made by whoever begins */
	int place;			    /* in its file's array; -1: the file is one object */
	struct reconcile_spec *reconcile;   /* NULL: nobody says how to compare with the provider */
	char *json;			    /* secrets are pointers only */
	int64_t version;		    /* digest_policy_version(ns, name, json) */
	struct tool_policy
	    *version_next; /* tool.c's: the chain that tool_by_version() looks through */
};

struct tool_set;

/*
 * Reads the *.json of `dir` in name order (dotfiles skipped; a missing folder is no policies and
 * sets *ret_missing). On any fault returns NULL and sets *ret_error to one line naming file, tool,
 * pointer and rule (caller frees). trust_annotations: config.
 */
struct tool_set *tool_set_load(
    const char *dir, bool trust_annotations, bool *ret_missing, char **ret_error);
/*
 * The same for whoever wants to know all that is wrong: cb is told each fault, which it may not
 * keep, and the set is what could be read. NULL: the folder could not be, which cb was told.
 */
struct tool_set *tool_set_read(const char *dir, bool trust_annotations, bool *ret_missing,
    void (*cb)(void *arg, const struct tool_finding *f), void *arg);
struct tool_set *tool_set_empty(void);
void tool_set_free(struct tool_set *set); /* policies in use live on */

/*
 * The effective policy of (ns, name), made on first use and kept in the set; a policy that names a
 * namespace wins over one for every namespace. NULL: no such tool; then tool_default() is what
 * `unknown_tools = guard` means: irreversible, default key. Borrowed from the set; take a reference
 * to keep it beyond this pass of the loop: of many defaults the oldest are forgotten. `ns` is one
 * that the config knows, since each pair found is remembered.
 */
struct tool_policy *tool_find(struct tool_set *set, const char *ns, const char *name);
struct tool_policy *tool_default(struct tool_set *set, const char *ns, const char *name);
/* By version, among all policies that live in this process (also those of replaced sets that are
 * still referenced), or NULL. */
struct tool_policy *tool_by_version(int64_t version);
/* How many policies were loaded, and the i-th of them as it is effective in `ns` (borrowed as by
 * tool_find()); NULL: another one is meant there, or none. */
size_t tool_set_n(const struct tool_set *set);
struct tool_policy *tool_set_at(struct tool_set *set, size_t i, const char *ns);
struct tool_policy *tool_ref(struct tool_policy *policy);
void tool_unref(struct tool_policy *policy);
/* Is there a probe of any kind? */
bool tool_has_probe(const struct tool_policy *policy);
/* Does any policy of the set have result_secret pointers? */
bool tool_set_has_result_secret(const struct tool_set *set);

/*
 * The `tools` method: appends a JSON array of the effective policies of the namespaces ns[0, n_ns),
 * each an object of the policy's members and `version` (a string of decimal digits, since not every
 * reader of JSON keeps 63 bits) and `findings` (array of {code, level, pointer, text}). `more` adds
 * further members to each; NULL = none.
 */
void tool_set_json(struct tool_set *set, char *const *ns, size_t n_ns,
    void (*more)(const struct tool_policy *policy, struct buf *out), struct buf *out);
/* Lint findings of one policy; calls cb for each, which may not keep it. Returns their number.
 * Codes: effectd-tools(5). */
size_t tool_lint(const struct tool_policy *policy,
    void (*cb)(void *arg, const struct tool_finding *f), void *arg);
/* Calls cb for each loaded policy as its file has it, bound to namespace `ns` unless it names its
 * own, and with the file's path (for effectctl tools lint offline). */
void tool_set_each(struct tool_set *set, const char *ns,
    void (*cb)(void *arg, struct tool_policy *policy, const char *file), void *arg);

/*
 * Stored form of a result: values at the policy's result_secret pointers become "[secret]", all
 * other bytes stay as they came. Returns true and fills `out` if something was redacted, false if
 * the text may be stored as it is. Text that does not scan strictly (duplicates, surrogates, ...)
 * is still redacted by raw spans, all duplicates of a member alike. Text nested deeper than the
 * scanner goes cannot be looked into: it becomes "[secret]" as a whole.
 */
bool tool_redact_result(
    const struct tool_policy *policy, const char *text, size_t len, struct buf *out);

#endif
