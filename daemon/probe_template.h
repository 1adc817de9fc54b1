/*
 * The templates of a probe: text with `{provider_key}`, `{effect}`, `{key}`, `{namespace}`,
 * `{tool}`, `{attempt}`, `{claimed_at}`, `{/pointer}` into the args that the policy keeps, and,
 * where a kind of probe has them, `{credential:NAME}`. Checked when the policy is read, filled in
 * for each probe. Pure.
 */
#ifndef EFFECTD_PROBE_TEMPLATE_H
#define EFFECTD_PROBE_TEMPLATE_H

#include "buf.h"
#include "errors.h"
#include "probe.h"

#include <stdbool.h>
#include <stddef.h>

struct probe_template_pair {
	char *name, *value;
};

/* Is every brace half of a placeholder that is known? `credentials`: those that may be named, by
 * their names. False: *ret_why, owned. */
bool probe_template_check(const char *text, const struct probe_template_pair *credentials,
    size_t n_credentials, char **ret_why) must_check;

/*
 * Does every `{/pointer}` stand at or under one of `keep`? False: *ret_why, owned. To be asked once
 * all of the policy is read; this and what follows is for checked templates.
 */
bool probe_template_keeps(
    const char *text, char *const *keep, size_t n_keep, char **ret_why) must_check;
/* Does it name this effect (its provider key, id or key), or the instant of its claim? */
bool probe_template_ties(const char *text);

struct probe_template_values {
	const struct probe_ask *ask;
	bool encode;				       /* percent-encoded, for a URL */
	const struct probe_template_pair *credentials; /* by name; n = 0 where none may stand */
	char *const *credential_texts;		       /* parallel */
	size_t n_credentials;
};

/* Appends `text` with its placeholders filled in. False: *ret_why, owned: a kept arg is not there,
 * or is no single value. */
bool probe_template_fill(const char *text, const struct probe_template_values *values,
    struct buf *out, char **ret_why) must_check;

#endif
