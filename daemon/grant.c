/*
 * Memory of what this boot granted. A grant stands in three tables, by (effect, token), by request
 * and by the connection it is bound to, and in one queue by age, whose oldest fall out beyond the
 * bound: what is not known any more counts as told, so forgetting can only make the daemon more
 * careful.
 *
 * Owns the grants, each until it was forgotten and no client holds it any more; holds a reference
 * to each one's policy.
 */
#include "grant.h"

#include "alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define GRANT_BUCKETS_MIN 1024

enum fate {
	FATE_NEW,     /* just granted: nobody was told yet */
	FATE_UNTOLD,  /* nobody was told, or the line was lost: it may be told again */
	FATE_TELLING, /* its line is with a client: it may still be told */
	FATE_TOLD     /* its line was taken whole by the kernel */
};

struct grant {
	unsigned refs; /* 1 while it is known, and one for each client that holds it */
	bool known;    /* stands in the tables */
	enum fate fate;
	struct uuid effect, token, request;
	bool has_request; /* and stands in by_request */
	struct tool_policy *policy;
	uint64_t bound;	  /* connection, 0 = none */
	unsigned n_words; /* of its holder that are under way */
	bool closed;	  /* its connection was closed during one of them */
	LIST_ENTRY(grant) effect_link, request_link, bound_link;
	TAILQ_ENTRY(grant) age_link;
};

/* Begins under way that carry one request. */
struct ask {
	struct uuid request;
	unsigned n;
	LIST_ENTRY(ask) link;
};

LIST_HEAD(grant_list, grant);
LIST_HEAD(ask_list, ask);

static struct grant_list *by_effect, *by_request, *by_bound;
static struct ask_list *asks;
static size_t buckets_mask;
static TAILQ_HEAD(, grant) by_age = TAILQ_HEAD_INITIALIZER(by_age);
static unsigned n_grants, grants_max;

static void forget(struct grant *g);

/* Zeroed lists are empty ones. */
static void
new_tables(size_t n)
{
	buckets_mask = n - 1;
	by_effect = xcalloc(n, sizeof(*by_effect));
	by_request = xcalloc(n, sizeof(*by_request));
	by_bound = xcalloc(n, sizeof(*by_bound));
	asks = xcalloc(n, sizeof(*asks));
}

void
grant_init(unsigned max)
{
	assert(max > 0 && !by_effect);
	grants_max = max;
	new_tables(GRANT_BUCKETS_MIN);
}

void
grant_free(void)
{
	struct grant *g;
	struct ask *a;
	size_t i;

	if (!by_effect)
		return;
	while ((g = TAILQ_FIRST(&by_age)))
		forget(g);
	for (i = 0; i <= buckets_mask; i++) {
		while ((a = LIST_FIRST(&asks[i]))) {
			LIST_REMOVE(a, link);
			free(a);
		}
	}
	free(by_effect);
	free(by_request);
	free(by_bound);
	free(asks);
	by_effect = by_request = by_bound = NULL;
	asks = NULL;
}

/* Tokens and effects are digests or random; a request is whatever its client made of it, hence all
 * 16 bytes count. */
static size_t
bucket(const struct uuid *u)
{
	uint64_t half[2];

	memcpy(half, u->b, sizeof(half));
	return (size_t)((half[0] * 0x9e3779b97f4a7c15u) ^ (half[1] * 0xc2b2ae3d27d4eb4fu)) >> 20 &
	    buckets_mask;
}

static size_t
bound_bucket(uint64_t connection)
{
	return (size_t)connection & buckets_mask;
}

static void
put_in_tables(struct grant *g)
{
	LIST_INSERT_HEAD(&by_effect[bucket(&g->effect)], g, effect_link);
	if (g->has_request)
		LIST_INSERT_HEAD(&by_request[bucket(&g->request)], g, request_link);
	if (g->bound != 0)
		LIST_INSERT_HEAD(&by_bound[bound_bucket(g->bound)], g, bound_link);
}

/*
 * Twice the buckets. Tables for the most that may be would cost a daemon that remembers little tens
 * of megabytes, as every id touches another page.
 */
static void
grow_tables(void)
{
	struct grant_list *old[] = {by_effect, by_request, by_bound};
	size_t n_old = buckets_mask + 1;
	struct ask_list *old_asks = asks;
	struct grant *g;
	struct ask *a;

	new_tables(2 * n_old);
	/* no list of the old tables is looked at again: what links them is simply overwritten */
	TAILQ_FOREACH (g, &by_age, age_link)
		put_in_tables(g);
	for (size_t i = 0; i < n_old; i++) {
		while ((a = LIST_FIRST(&old_asks[i]))) {
			LIST_REMOVE(a, link);
			LIST_INSERT_HEAD(&asks[bucket(&a->request)], a, link);
		}
	}
	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
		free(old[i]);
	free(old_asks);
}

static struct ask *
find_ask(const struct uuid *request)
{
	struct ask *a;

	LIST_FOREACH (a, &asks[bucket(request)], link)
		if (uuid_equal(&a->request, request))
			return a;
	return NULL;
}

static struct grant *
find_request(const struct uuid *request)
{
	struct grant *g;

	LIST_FOREACH (g, &by_request[bucket(request)], request_link)
		if (uuid_equal(&g->request, request))
			return g;
	return NULL;
}

static struct grant *
find_effect(const struct uuid *effect, const struct uuid *token)
{
	struct grant *g;

	LIST_FOREACH (g, &by_effect[bucket(effect)], effect_link)
		if (uuid_equal(&g->effect, effect) && uuid_equal(&g->token, token))
			return g;
	return NULL;
}

bool
grant_ask(const struct uuid *request, const struct uuid *effect)
{
	struct ask *a = find_ask(request);
	const struct grant *g;

	if (a) {
		a->n++;
		return false;
	}
	a = xcalloc(1, sizeof(*a));
	a->request = *request;
	a->n = 1;
	LIST_INSERT_HEAD(&asks[bucket(request)], a, link);
	g = find_request(request);
	/* a client that uses one request for several effects says nothing about the others' lines
	 */
	return g && g->fate == FATE_UNTOLD && uuid_equal(&g->effect, effect);
}

void
grant_ask_end(const struct uuid *request)
{
	struct ask *a = find_ask(request);

	assert(a && a->n > 0);
	if (--a->n > 0)
		return;
	LIST_REMOVE(a, link);
	free(a);
}

unsigned
grant_asks(const struct uuid *request)
{
	const struct ask *a = find_ask(request);

	return a ? a->n : 0;
}

static void
unbind(struct grant *g)
{
	if (g->bound == 0)
		return;
	LIST_REMOVE(g, bound_link);
	g->bound = 0;
}

static void
drop_request(struct grant *g)
{
	if (!g->has_request)
		return;
	LIST_REMOVE(g, request_link);
	g->has_request = false;
}

/* Out of every table; the memory stays as long as a client holds it. */
static void
forget(struct grant *g)
{
	assert(g->known && n_grants > 0);
	unbind(g);
	drop_request(g);
	LIST_REMOVE(g, effect_link);
	TAILQ_REMOVE(&by_age, g, age_link);
	g->known = false;
	n_grants--;
	tool_unref(g->policy);
	g->policy = NULL;
	grant_unref(g);
}

static void
set_request(struct grant *g, const struct uuid *request)
{
	struct grant *other = find_request(request);

	if (other == g)
		return;
	/* the same request got another token since: the earlier one can no longer be asked for */
	if (other)
		drop_request(other);
	drop_request(g);
	g->request = *request;
	g->has_request = true;
	LIST_INSERT_HEAD(&by_request[bucket(request)], g, request_link);
}

struct grant *
grant_add(const struct uuid *effect, const struct uuid *token, const struct uuid *request,
    struct tool_policy *policy)
{
	struct grant *g = find_effect(effect, token);

	if (!g) {
		if (n_grants == grants_max)
			forget(TAILQ_FIRST(&by_age));
		g = xcalloc(1, sizeof(*g));
		g->refs = 1;
		g->known = true;
		g->effect = *effect;
		g->token = *token;
		g->policy = tool_ref(policy);
		put_in_tables(g);
		TAILQ_INSERT_TAIL(&by_age, g, age_link);
		if (++n_grants > buckets_mask)
			grow_tables();
	}
	if (request)
		set_request(g, request);
	return g;
}

const struct uuid *
grant_effect(const struct grant *g)
{
	return &g->effect;
}

const struct uuid *
grant_token(const struct grant *g)
{
	return &g->token;
}

struct grant *
grant_ref(struct grant *g)
{
	assert(g->refs > 0);
	g->refs++;
	return g;
}

void
grant_unref(struct grant *g)
{
	if (!g)
		return;
	assert(g->refs > 0);
	if (--g->refs > 0)
		return;
	assert(!g->known);
	free(g);
}

void
grant_telling(struct grant *g)
{
	if (g->known)
		g->fate = FATE_TELLING;
}

void
grant_written(struct grant *g, uint64_t connection)
{
	(void)connection;
	if (g->known)
		g->fate = FATE_TOLD;
}

void
grant_unwritten(struct grant *g)
{
	if (g->known && g->fate == FATE_TELLING)
		g->fate = FATE_UNTOLD;
}

void
grant_untold(struct grant *g)
{
	/* a later begin of the same request may have told it meanwhile */
	if (g->known && g->fate == FATE_NEW)
		g->fate = FATE_UNTOLD;
}

void
grant_connection_end(struct grant *last, bool reset)
{
	if (last && reset && last->known && last->fate == FATE_TOLD)
		last->fate = FATE_UNTOLD;
}

bool
grant_told(const struct grant *g)
{
	return !g->known || g->fate == FATE_TELLING || g->fate == FATE_TOLD;
}

void
grant_forget(const struct uuid *effect, const struct uuid *token)
{
	struct grant *g = find_effect(effect, token);

	if (g)
		forget(g);
}

void
grant_unbind(const struct uuid *effect, const struct uuid *token)
{
	struct grant *g = find_effect(effect, token);

	if (g)
		unbind(g);
}

struct tool_policy *
grant_policy(const struct uuid *effect, const struct uuid *token)
{
	struct grant *g = find_effect(effect, token);

	return g ? g->policy : NULL;
}

void
grant_bind(struct grant *g, uint64_t connection)
{
	unbind(g);
	if (!g->known || connection == 0)
		return;
	g->bound = connection;
	LIST_INSERT_HEAD(&by_bound[bound_bucket(connection)], g, bound_link);
}

static struct grant *
find_bound(uint64_t connection)
{
	struct grant *g;

	LIST_FOREACH (g, &by_bound[bound_bucket(connection)], bound_link)
		if (g->bound == connection)
			return g;
	return NULL;
}

bool
grant_has_bound(uint64_t connection)
{
	return find_bound(connection) != NULL;
}

void
grant_each_bound(uint64_t connection,
    void (*cb)(void *arg, const struct uuid *effect, const struct uuid *token), void *arg)
{
	struct uuid effect, token;
	struct grant *g;

	/* from the start each time: cb may forget any of them */
	while ((g = find_bound(connection))) {
		effect = g->effect;
		token = g->token;
		unbind(g);
		/* cb ends the claim: told again now, its run would be of an unknown outcome */
		g->fate = FATE_TOLD;
		if (g->n_words > 0)
			g->closed = true;
		else
			cb(arg, &effect, &token);
	}
}

bool
grant_word(const struct uuid *effect, const struct uuid *token)
{
	struct grant *g = find_effect(effect, token);

	if (!g)
		return false;
	g->n_words++;
	return true;
}

bool
grant_word_end(const struct uuid *effect, const struct uuid *token)
{
	struct grant *g = find_effect(effect, token);

	/* forgotten since: settled, or fallen out, and then its lease ends it */
	if (!g || g->n_words == 0 || --g->n_words > 0 || !g->closed)
		return false;
	g->closed = false;
	return true;
}
