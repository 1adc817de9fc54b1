/*
 * Making a conninfo ready: host by host, each name one question to resolve.c. Promise: what comes
 * out names addresses and folders only, beside the names that certificates are checked against, and
 * says nothing else than what went in. A host that cannot be resolved is left out, unless it was
 * the last.
 */
#include "probe_sql_place.h"

#include "alloc.h"
#include "buf.h"
#include "conninfo.h"
#include "probe_sql_spec.h"
#include "resolve.h"

#include <arpa/inet.h>
#include <assert.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct place_host {
	char *name, *address, *port; /* "" = none */
};

struct probe_sql_place {
	struct probe_sql_place **self; /* who owns it */
	PQconninfoOption *options;
	char *user, *password; /* NULL = as the options have it */
	char *application_name;
	int64_t timeout_ms;
	void (*done)(void *arg, const char *conninfo, const char *why);
	void *arg;
	struct place_host hosts[PROBE_SQL_HOSTS_MAX];
	size_t n_hosts, at; /* the next one to look at */
	struct resolve *resolve;
	struct buf names, addresses, ports; /* comma-separated, in step */
	size_t n_found;
	char *why; /* what went wrong last, NULL = nothing */
};

static void place_look(struct probe_sql_place *p);

static void
place_free(struct probe_sql_place *p)
{
	PQconninfoFree(p->options);
	free(p->user);
	free(p->password);
	free(p->application_name);
	for (size_t i = 0; i < p->n_hosts; i++) {
		free(p->hosts[i].name);
		free(p->hosts[i].address);
		free(p->hosts[i].port);
	}
	buf_free(&p->names);
	buf_free(&p->addresses);
	buf_free(&p->ports);
	free(p->why);
	free(p);
}

static const char *
option(const struct probe_sql_place *p, const char *keyword)
{
	for (const PQconninfoOption *o = p->options; o->keyword; o++)
		if (strcmp(o->keyword, keyword) == 0)
			return o->val;
	assert(!"a word that libpq knows");
	return NULL;
}

/* ---- what comes out ---- */

/* One that says nothing is left to libpq's defaults. */
static void
add_list(struct buf *out, const char *keyword, struct buf *list)
{
	const char *text = buf_str(list);

	if (text[strspn(text, ",")])
		conninfo_add(out, keyword, text);
}

/* A user of our own has nothing of the other's but the way to the server. */
static bool
is_made_anew(const struct probe_sql_place *p, const char *keyword)
{
	static const char *const always[] = {"host", "hostaddr", "port", NULL},
				 *const of_user[] = {"user", "password", "application_name", NULL};

	for (size_t i = 0; always[i]; i++)
		if (strcmp(keyword, always[i]) == 0)
			return true;
	for (size_t i = 0; p->user && of_user[i]; i++)
		if (strcmp(keyword, of_user[i]) == 0)
			return true;
	return false;
}

static void
place_told(struct probe_sql_place *p)
{
	struct buf out = {0};

	for (const PQconninfoOption *o = p->options; o->keyword; o++)
		if (o->val && !is_made_anew(p, o->keyword))
			conninfo_add(&out, o->keyword, o->val);
	if (!option(p, "target_session_attrs"))
		conninfo_add(&out, "target_session_attrs", "primary");
	if (p->user)
		conninfo_add(&out, "user", p->user);
	if (p->user || !option(p, "application_name"))
		conninfo_add(&out, "application_name", p->application_name);
	if (p->password)
		conninfo_add(&out, "password", p->password);
	add_list(&out, "host", &p->names);
	add_list(&out, "hostaddr", &p->addresses);
	add_list(&out, "port", &p->ports);
	p->done(p->arg, buf_str(&out), NULL);
	buf_free(&out);
}

/* ---- host by host ---- */

static void
place_add(struct probe_sql_place *p, const struct place_host *host, const char *address)
{
	const char *comma = p->n_found++ > 0 ? "," : "";

	buf_printf(&p->names, "%s%s", comma, host->name);
	buf_printf(&p->addresses, "%s%s", comma, address);
	buf_printf(&p->ports, "%s%s", comma, host->port);
}

static void
place_resolve_cb(void *arg, const struct resolve_answer *answer)
{
	struct probe_sql_place *p = arg;

	p->resolve = NULL;
	for (size_t i = 0; i < answer->n; i++)
		place_add(p, &p->hosts[p->at], answer->addresses[i]);
	if (answer->n == 0) {
		free(p->why);
		p->why = xstrdup(answer->why);
	}
	p->at++;
	place_look(p);
}

/* Does libpq get there without asking anybody? */
static bool
is_place(const struct place_host *host)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return host->address[0] || !host->name[0] || host->name[0] == '/' || host->name[0] == '@' ||
	    inet_pton(AF_INET, host->name, bytes) == 1 ||
	    inet_pton(AF_INET6, host->name, bytes) == 1;
}

/* Goes on until there is something to wait for, or to tell; then `p` may be gone. */
static void
place_look(struct probe_sql_place *p)
{
	for (; p->at < p->n_hosts; p->at++) {
		struct place_host *host = &p->hosts[p->at];

		if (is_place(host)) {
			place_add(p, host, host->address);
			continue;
		}
		free(p->why);
		p->why = NULL;
		p->resolve = resolve_start(host->name, p->timeout_ms, place_resolve_cb, p, &p->why);
		if (p->resolve)
			return;
	}
	*p->self = NULL;
	if (p->n_found > 0)
		place_told(p);
	else
		p->done(p->arg, NULL, p->why);
	place_free(p);
}

/* ---- what goes in ---- */

/* "" = none. Owned by the caller. */
static char *
list_part(const char *list, size_t i)
{
	char *part = conninfo_list_part(list, i);

	return part ? part : xstrdup("");
}

void
probe_sql_place_find(struct probe_sql_place **ret_place, const char *conninfo,
    const struct probe_sql_login *login, int64_t timeout_ms,
    void (*done)(void *arg, const char *conninfo, const char *why), void *arg)
{
	struct probe_sql_place *p = xcalloc(1, sizeof *p);
	const char *names, *addresses;

	*ret_place = p;
	p->self = ret_place;
	p->options = PQconninfoParse(conninfo, NULL);
	if (!p->options)
		alloc_out_of_memory(); /* the text was looked at when it was read */
	names = option(p, "host");
	addresses = option(p, "hostaddr");
	p->n_hosts = conninfo_list_length(addresses ? addresses : names);
	p->user = login->user ? xstrdup(login->user) : NULL;
	p->password = login->password ? xstrdup(login->password) : NULL;
	p->application_name = xstrdup(login->application_name);
	p->timeout_ms = timeout_ms;
	p->done = done;
	p->arg = arg;
	if (p->n_hosts > PROBE_SQL_HOSTS_MAX) /* the ledger's may name more */
		p->n_hosts = PROBE_SQL_HOSTS_MAX;
	for (size_t i = 0; i < p->n_hosts; i++)
		p->hosts[i] = (struct place_host){.name = list_part(names, i),
		    .address = list_part(addresses, i),
		    .port = list_part(option(p, "port"), i)};
	place_look(p);
}

void
probe_sql_place_cancel(struct probe_sql_place *p)
{
	if (!p)
		return;
	resolve_cancel(p->resolve);
	place_free(p);
}
