/*
 * Connections by role. A lane is one connection: FINDING its hosts' addresses, CONNECTING, IDLE, or
 * TAKEN by a seat, which then has a call open on it.
 *
 * Promise: no more than `max` backends of a role work for this daemon at a time, those counted
 * whose connection was lost while they committed; one that cannot be reached is tried again with a
 * pause that grows, by one lane at a time. Nothing is left in a session by us, so that whoever is
 * given it finds it as new, as far as the tools' own statements leave it so.
 *
 * Memory: places and lanes are this file's, seats their callers'. A place goes with its last lane
 * and seat.
 */
#include "execution_place.h"

#include "alloc.h"
#include "credential.h"
#include "log.h"
#include "loop.h"
#include "pgpool.h"
#include "pgpool_backoff.h"
#include "probe_sql_place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MS 30000

enum lane_state { FINDING, CONNECTING, IDLE, TAKEN };

struct execution_lane {
	LIST_ENTRY(execution_lane) link;
	struct execution_place *place;
	enum lane_state state;
	struct probe_sql_place *finding; /* FINDING */
	struct pgconn *conn;		 /* from CONNECTING on */
	struct execution_seat *seat;	 /* TAKEN; NULL there: its connection is ending */
	struct loop_timer *timer;	 /* IDLE */
};

struct execution_place {
	LIST_ENTRY(execution_place) link;
	char *user, *password_file; /* NULL = none */
	LIST_HEAD(, execution_lane) lanes;
	TAILQ_HEAD(execution_seats, execution_seat) waiting;
	unsigned max, n_seats, n_lanes, n_taken, n_unresolved;
	unsigned n_failures; /* in a row */
	int64_t connect_timeout_ms;
	int64_t open_after_ms;	  /* no lane is opened before */
	struct loop_timer *timer; /* to serve outside of whoever asked */
	char *why;		  /* as last said; NULL = nothing */
};

static LIST_HEAD(, execution_place) places = LIST_HEAD_INITIALIZER(places);

static void place_serve(struct execution_place *p);

/* ---- places ---- */

static bool
same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void
place_timer_cb(void *arg)
{
	place_serve(arg);
}

static struct execution_place *
place_of(const char *user, const char *password_file)
{
	struct execution_place *p;

	LIST_FOREACH (p, &places, link)
		if (same_text(p->user, user) && same_text(p->password_file, password_file))
			return p;
	p = xcalloc(1, sizeof *p);
	p->user = xstrdup(user);
	p->password_file = password_file ? xstrdup(password_file) : NULL;
	LIST_INIT(&p->lanes);
	TAILQ_INIT(&p->waiting);
	p->timer = loop_timer_new(place_timer_cb, p);
	LIST_INSERT_HEAD(&places, p, link);
	return p;
}

static void
place_drop_if_idle(struct execution_place *p)
{
	if (p->n_seats > 0 || p->n_lanes > 0)
		return;
	LIST_REMOVE(p, link);
	loop_timer_free(p->timer);
	free(p->user);
	free(p->password_file);
	free(p->why);
	free(p);
}

/* ---- lanes ---- */

static void
lane_free(struct execution_lane *lane)
{
	struct execution_place *p = lane->place;

	LIST_REMOVE(lane, link);
	p->n_lanes--;
	p->n_taken -= lane->state == TAKEN;
	probe_sql_place_cancel(lane->finding);
	pgconn_close(lane->conn);
	loop_timer_free(lane->timer);
	free(lane);
}

/* Says what is in the way, once. */
static void
say_why(struct execution_place *p, const char *why)
{
	if (same_text(p->why, why))
		return;
	log_warn("execute", "nothing can be executed as \"%s\": %s, trying again", p->user, why);
	free(p->why);
	p->why = xstrdup(why);
}

/* It was never of use. */
static void
lane_failed(struct execution_lane *lane, const char *why)
{
	struct execution_place *p = lane->place;

	say_why(p, why);
	p->n_failures++;
	p->open_after_ms = loop_now_ms() + pgpool_backoff_ms(p->n_failures);
	lane_free(lane);
	loop_timer_set(p->timer, 0);
}

static void
lane_idle(struct execution_lane *lane)
{
	struct execution_place *p = lane->place;

	p->n_taken -= lane->state == TAKEN;
	lane->state = IDLE;
	lane->seat = NULL;
	loop_timer_set(lane->timer, IDLE_MS);
	place_serve(p);
}

static void
lane_connected_cb(struct pgconn *c, void *arg)
{
	struct execution_lane *lane = arg;
	struct execution_place *p = lane->place;

	(void)c;
	p->n_failures = 0;
	lane_idle(lane);
}

static void
lane_closed_cb(struct pgconn *c, const char *sqlstate, const char *why, void *arg)
{
	struct execution_lane *lane = arg;
	struct execution_place *p = lane->place;

	(void)c;
	(void)sqlstate; /* it stands in the text */
	assert(!lane->seat);
	lane->conn = NULL; /* frees itself */
	if (lane->state == CONNECTING) {
		lane_failed(lane, why[0] ? why : "the connection was lost");
		return;
	}
	lane_free(lane);
	loop_timer_set(p->timer, 0);
}

static void
lane_timer_cb(void *arg)
{
	struct execution_lane *lane = arg;
	struct execution_place *p = lane->place;

	assert(lane->state == IDLE);
	lane_free(lane);
	place_drop_if_idle(p);
}

static const struct pgconn_handler handler = {
    .connected = lane_connected_cb, .closed = lane_closed_cb};

static void
lane_found_cb(void *arg, const char *conninfo, const char *why)
{
	struct execution_lane *lane = arg;

	if (!conninfo) {
		lane_failed(lane, why);
		return;
	}
	lane->state = CONNECTING;
	lane->conn = pgconn_new(conninfo, -1, lane->place->connect_timeout_ms, &handler, lane);
}

static void
lane_open(struct execution_place *p)
{
	struct execution_lane *lane = xcalloc(1, sizeof *lane);
	struct probe_sql_login login = {.user = p->user, .application_name = "effectd execute"};
	char *password = NULL, *why = NULL, *told;

	lane->place = p;
	lane->timer = loop_timer_new(lane_timer_cb, lane);
	LIST_INSERT_HEAD(&p->lanes, lane, link);
	p->n_lanes++;
	if (p->password_file)
		password = credential_read(p->password_file, &why);
	login.password = password;
	if (why) {
		told = xasprintf("the password file %s", why);
		lane_failed(lane, told);
		free(told);
	} else {
		probe_sql_place_find(&lane->finding, pgpool_conninfo(), &login,
		    p->connect_timeout_ms, lane_found_cb, lane);
	}
	free(password);
	free(why);
}

/* ---- seats ---- */

/* May it have one more? A backend that nobody has heard of since it was to commit counts, too. */
static bool
has_room(const struct execution_place *p, const struct execution_seat *seat)
{
	return seat->unresolved || p->n_taken + p->n_unresolved < p->max;
}

static struct execution_lane *
lane_in(const struct execution_place *p, enum lane_state state)
{
	struct execution_lane *lane;

	LIST_FOREACH (lane, &p->lanes, link)
		if (lane->state == state)
			return lane;
	return NULL;
}

static void
place_give(struct execution_place *p, struct execution_lane *lane, struct execution_seat *seat)
{
	TAILQ_REMOVE(&p->waiting, seat, link);
	seat->waits = false;
	seat->lane = lane;
	lane->seat = seat;
	lane->state = TAKEN;
	p->n_taken++;
	loop_timer_clear(lane->timer);
	seat->given(seat, lane->conn);
}

/* Gives what is idle, and opens one more where somebody waits, one at a time. May free the place.
 */
static void
place_serve(struct execution_place *p)
{
	int64_t now_ms = loop_now_ms();
	struct execution_lane *idle;
	struct execution_seat *seat;

	while ((seat = TAILQ_FIRST(&p->waiting)) && has_room(p, seat) && (idle = lane_in(p, IDLE)))
		place_give(p, idle, seat);
	if (!seat) {
		place_drop_if_idle(p);
		return;
	}
	if (!has_room(p, seat) || lane_in(p, FINDING) || lane_in(p, CONNECTING))
		return;
	if (now_ms < p->open_after_ms)
		loop_timer_set(p->timer, p->open_after_ms - now_ms);
	else
		lane_open(p);
}

static void
wait_for_lane(struct execution_seat *seat)
{
	struct execution_place *p = seat->place;

	seat->waits = true;
	if (seat->unresolved)
		TAILQ_INSERT_HEAD(&p->waiting, seat, link);
	else
		TAILQ_INSERT_TAIL(&p->waiting, seat, link);
	loop_timer_set(p->timer, 0);
}

void
execution_place_ask(struct execution_seat *seat, const char *user, const char *password_file,
    unsigned max, int64_t connect_timeout_ms)
{
	assert(!seat->lane && !seat->waits && max > 0);
	if (!seat->place) {
		seat->place = place_of(user, password_file);
		seat->place->n_seats++;
	}
	seat->place->max = max;
	seat->place->connect_timeout_ms = connect_timeout_ms;
	wait_for_lane(seat);
}

void
execution_place_return(struct execution_seat *seat)
{
	struct execution_lane *lane = seat->lane;
	struct execution_place *p = lane->place;

	if (p->why)
		log_info("execute", "tools are executed as \"%s\" again", p->user);
	free(p->why);
	p->why = NULL;
	seat->lane = NULL;
	lane_idle(lane);
}

void
execution_place_drop(struct execution_seat *seat, const char *why)
{
	struct execution_lane *lane = seat->lane;
	struct execution_place *p = lane->place;

	if (why)
		say_why(p, why);
	seat->lane = NULL;
	lane->seat = NULL;
	lane_free(lane);
	loop_timer_set(p->timer, 0);
}

void
execution_place_lost(struct execution_seat *seat, bool unresolved)
{
	seat->lane->seat = NULL; /* lane_closed_cb() follows */
	seat->lane = NULL;
	if (unresolved && !seat->unresolved)
		seat->place->n_unresolved++;
	seat->unresolved |= unresolved;
}

void
execution_place_leave(struct execution_seat *seat)
{
	struct execution_place *p = seat->place;

	assert(!seat->lane);
	if (!p)
		return;
	if (seat->waits)
		TAILQ_REMOVE(&p->waiting, seat, link);
	seat->waits = false;
	seat->place = NULL;
	p->n_seats--;
	p->n_unresolved -= seat->unresolved;
	seat->unresolved = false;
	loop_timer_set(p->timer, 0);
}

void
execution_place_stop(void)
{
	struct execution_place *p, *next;
	struct execution_lane *lane;

	for (p = LIST_FIRST(&places); p; p = next) {
		next = LIST_NEXT(p, link);
		assert(p->n_seats == 0);
		while ((lane = LIST_FIRST(&p->lanes)))
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): LIST_REMOVE took it out */
			lane_free(lane);
		place_drop_if_idle(p);
	}
}
