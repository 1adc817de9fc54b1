/*
 * The others, as this daemon last heard of them: who they are, and which tools have not the same
 * policy everywhere. Asks nobody.
 */
#include "info_fleet.h"

#include "digest.h"
#include "fleet.h"

#include <inttypes.h>
#include <string.h>

bool
info_fleet_may_see(const struct access_peer *peer, const char *ns)
{
	for (size_t i = 0; i < peer->n_grants; i++)
		if (peer->grants[i].roles && strcmp(peer->grants[i].ns, ns) == 0)
			return true;
	return false;
}

static bool
has_rights(const struct access_peer *peer)
{
	for (size_t i = 0; i < peer->n_grants; i++)
		if (peer->grants[i].roles)
			return true;
	return false;
}

static void
add_daemon(struct buf *out, const struct fleet_daemon *d)
{
	char instance[UUID_TEXT_BYTES];

	uuid_text(&d->instance, instance);
	buf_add_char(out, '{');
	buf_json_member_str(out, "instance", instance);
	buf_json_member_str(out, "host", d->host);
	buf_json_member_str(out, "version", d->version);
	buf_json_member_str(out, "state", d->silent ? "silent" : "up");
	buf_json_member_instant(out, "started_at", d->started_us);
	buf_json_member_instant(out, "seen_at", d->seen_us);
	buf_add_char(out, '}');
}

/* One tool with what each daemon has: those of a tool come in a row. */
static void
add_differ(struct buf *out, const struct access_peer *peer)
{
	const struct fleet_policy *last = NULL, *p;
	size_t n;

	p = fleet_policies(&n);
	buf_json_member(out, "differ");
	buf_add_char(out, '[');
	for (size_t i = 0; i < n; i++, p++) {
		if (!info_fleet_may_see(peer, p->ns))
			continue;
		if (!last || strcmp(last->ns, p->ns) != 0 || strcmp(last->tool, p->tool) != 0) {
			buf_add_str(out, last ? "]},{" : "{");
			buf_json_member_str(out, "namespace", p->ns);
			if (p->tool[0])
				buf_json_member_str(out, "tool", p->tool);
			buf_json_member(out, "daemons");
			buf_add_char(out, '[');
		} else {
			buf_add_char(out, ',');
		}
		buf_add_char(out, '{');
		buf_json_member_str(out, "host", p->host);
		buf_json_member_str(out, "version", p->version);
		if (!p->none)
			buf_printf(out, ",\"policy\":\"%" PRId64 "\"", p->policy);
		buf_add_char(out, '}');
		last = p;
	}
	buf_add_str(out, last ? "]}]" : "]");
}

void
info_fleet_json(const struct access_peer *peer, struct buf *out)
{
	const struct fleet_daemon *daemons;
	size_t n;

	daemons = fleet_daemons(&n);
	if (n == 0 || !has_rights(peer))
		return;
	buf_json_member(out, "daemons");
	buf_add_char(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_add_char(out, ',');
		add_daemon(out, &daemons[i]);
	}
	buf_add_char(out, ']');
	add_differ(out, peer);
}
