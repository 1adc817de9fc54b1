/*
 * tools: the effective policies of the peer's namespaces, each with its version, what lint finds in
 * it and, where it has a probe, what this daemon knows of its provider. Asks no ledger.
 */
#include "methods.h"

#include "alloc.h"
#include "breaker.h"
#include "call.h"
#include "metrics.h"

#include <stdlib.h>

static void
add_probe_state(const struct tool_policy *policy, struct buf *out)
{
	static const struct {
		const char *verdict, *word;
	} verdicts[] = {{"landed", "probe_landed"}, {"failed", "probe_failed"},
	    {"absent", "probe_absent"}, {"inconclusive", "probe_inconclusive"}};

	if (!tool_has_probe(policy))
		return;
	buf_json_member(out, "probe_state");
	breaker_json(policy->ns, policy->name, out);
	buf_json_member(out, "probes");
	buf_add_char(out, '{');
	for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
		buf_json_member_int(out, verdicts[i].verdict,
		    (int64_t)metrics_told(policy->ns, policy->name, verdicts[i].word));
	buf_add_char(out, '}');
}

void
tools_call(struct request *r)
{
	const struct access_peer *peer = r->peer;
	struct buf line = {0};
	char **names;
	size_t i, n = 0;

	if (!call_params(r, NULL, 0, NULL))
		return;
	names = xcalloc(peer->n_grants + 1, sizeof(*names));
	for (i = 0; i < peer->n_grants; i++)
		if (peer->grants[i].roles & r->method->roles)
			names[n++] = xstrdup(peer->grants[i].ns);
	if (n == 0) {
		call_refuse(r, ERR_DENIED, NULL);
		goto out;
	}
	call_log(r, NULL, "tool", NULL);
	call_line(r, &line);
	buf_add_char(&line, '{');
	buf_json_member(&line, "tools");
	tool_set_json(call_tools(), names, n, add_probe_state, &line);
	buf_add_char(&line, '}');
	call_send(r, &line);
out:
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
}
