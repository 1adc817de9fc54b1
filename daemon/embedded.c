/*
 * Supervision of the embedded database: MAKING (a job, at each start) -> RUNNING <-> ENDED, and
 * STOPPING. Its server is looked at a few times a second, as one that was adopted is nobody's child
 * here.
 *
 * Promise: a cluster is made only where none can have been lost; the server outlives a killed
 * daemon and no stopped one. Not here: folders and programs (embedded_place.c), connections
 * (pgpool).
 */
#include "embedded.h"
#include "alloc.h"
#include "embedded_place.h"
#include "job.h"
#include "log.h"
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define LOOK_MS 250
#define LOOK_STOPPING_MS 20
#define BACKOFF_FIRST_MS 100
#define BACKOFF_LAST_MS 5000
#define STEADY_MS 10000	  /* ran longer than this: the next start is at once */
#define PATIENCE_MS 20000 /* for a fast shutdown, then an immediate one */

enum state { OFF, MAKING, RUNNING, ENDED, STOPPING };

static enum state state;
static struct embedded_place place;
static struct job *job;
static struct loop_timer *timer;
static pid_t pid;
static bool own_child;	 /* else adopted */
static int64_t since_ms; /* of the state */
static int64_t backoff_ms;
static char *conninfo;
static char error[256];
static void (*stopped_cb)(void);

const char *
embedded_conninfo(void)
{
	assert(conninfo);
	return conninfo;
}

const char *
embedded_error(void)
{
	return error;
}

static void
enter(enum state next, int64_t in_ms)
{
	state = next;
	since_ms = loop_now_ms();
	loop_timer_set(timer, in_ms);
}

/* One warning for each fault: the reasons of its repeats are the same. */
static void
ended(const char *why)
{
	if (strcmp(error, why)) {
		snprintf(error, sizeof error, "%s", why);
		log_warn("database", "%s, trying again", error);
	}
	backoff_ms = backoff_ms ? 2 * backoff_ms : BACKOFF_FIRST_MS;
	if (backoff_ms > BACKOFF_LAST_MS)
		backoff_ms = BACKOFF_LAST_MS;
	enter(ENDED, backoff_ms);
}

/* Has the server gone? Says how in `ret_how`. */
static bool
gone(char *ret_how, size_t size)
{
	int status;
	pid_t reaped;

	snprintf(ret_how, size, "ended");
	if (!own_child)
		return embedded_place_running(&place) != pid;
	reaped = waitpid(pid, &status, WNOHANG);
	if (reaped == 0)
		return false;
	if (reaped < 0)
		return true;
	if (WIFEXITED(status))
		snprintf(ret_how, size, "ended with status %d", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		snprintf(ret_how, size, "was ended by signal %d", WTERMSIG(status));
	return true;
}

/* Adopts a server that runs already, or starts one. */
static void
run(void)
{
	pid = embedded_place_running(&place);
	own_child = pid == 0;
	if (own_child)
		pid = embedded_place_launch(&place);
	if (pid == 0) {
		ended("the embedded database's process cannot be made");
		return;
	}
	log_info("database", "the embedded database %s, process %ld",
	    own_child ? "is starting" : "was running and is ours again", (long)pid);
	error[0] = '\0';
	enter(RUNNING, LOOK_MS);
}

static void
made_cb(const char *why, void *arg)
{
	(void)arg;
	job = NULL;
	if (why)
		ended(why);
	else
		run();
}

static void
make(void)
{
	state = MAKING;
	job = job_start(embedded_place_make, made_cb, &place);
}

static void
look_running(void)
{
	char how[64], why[256];

	if (loop_now_ms() - since_ms > STEADY_MS)
		backoff_ms = 0;
	if (!gone(how, sizeof how)) {
		loop_timer_set(timer, LOOK_MS);
		return;
	}
	snprintf(why, sizeof why, "the embedded database %s, '%.100s' says why", how, place.log);
	error[0] = '\0'; /* each end is told */
	ended(why);
}

static void
finish_stop(void)
{
	void (*cb)(void) = stopped_cb;

	loop_timer_free(timer);
	timer = NULL;
	state = OFF;
	pid = 0;
	error[0] = '\0';
	embedded_place_free(&place);
	free(conninfo);
	conninfo = NULL;
	if (cb)
		cb();
}

static void
look_stopping(void)
{
	char how[64];

	if (pid == 0 || gone(how, sizeof how)) {
		finish_stop();
		return;
	}
	if (loop_now_ms() - since_ms > PATIENCE_MS) {
		log_warn("database", "the embedded database does not stop, stopping it by force");
		kill(pid, SIGQUIT);
		since_ms = loop_now_ms();
	}
	loop_timer_set(timer, LOOK_STOPPING_MS);
}

static void
timer_cb(void *arg)
{
	(void)arg;
	switch (state) {
	case RUNNING:
		look_running();
		break;
	case ENDED:
		make();
		break;
	case STOPPING:
		look_stopping();
		break;
	default:
		break;
	}
}

int
embedded_start(const struct config *config, bool has_instance, char **ret_error)
{
	int err;

	assert(state == OFF);
	err = embedded_place_init(&place, config, has_instance, ret_error);
	if (err) {
		embedded_place_free(&place);
		return err;
	}
	conninfo = xasprintf("host='%s' port=5432 user=effectd dbname=effectd", place.run);
	snprintf(error, sizeof error, "the embedded database is being made ready");
	timer = loop_timer_new(timer_cb, NULL);
	backoff_ms = 0;
	if (embedded_place_running(&place))
		run();
	else
		make();
	return 0;
}

void
embedded_stop(void (*stopped)(void))
{
	assert(state != OFF && state != STOPPING);
	stopped_cb = stopped;
	job_kill(job);
	job = NULL;
	if (!stopped) {
		finish_stop();
		return;
	}
	if (state != RUNNING)
		pid = 0;
	if (pid)
		kill(pid, SIGINT);
	enter(STOPPING, pid ? LOOK_STOPPING_MS : 0); /* never from within */
}
