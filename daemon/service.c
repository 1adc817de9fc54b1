/*
 * The thin layer over libsystemd. Promise: no failure reaches a caller, as a service manager that
 * does not listen is no reason to stop serving.
 */
#include "service.h"

#include "loop.h"

#ifdef HAVE_LIBSYSTEMD

#include <inttypes.h>
#include <systemd/sd-daemon.h>
#include <time.h>

static struct loop_timer *watchdog;
static int64_t watchdog_ms;

int
service_listen_fd(void)
{
	int n = sd_listen_fds(1);

	if (n > 1)
		return ERR_CONFLICT;
	return n == 1 ? SD_LISTEN_FDS_START : -1;
}

static void
service_watchdog_cb(void *arg)
{
	(void)arg;
	sd_notify(0, "WATCHDOG=1");
	loop_timer_set(watchdog, watchdog_ms);
}

void
service_start(void)
{
	uint64_t us;

	if (sd_watchdog_enabled(0, &us) <= 0)
		return;
	watchdog_ms = (int64_t)(us / 2000);
	if (watchdog_ms < 1)
		watchdog_ms = 1;
	watchdog = loop_timer_new(service_watchdog_cb, NULL);
	loop_timer_set(watchdog, 0);
}

void
service_stop(void)
{
	loop_timer_free(watchdog);
	watchdog = NULL;
}

void
service_ready(void)
{
	sd_notify(0, "READY=1");
}

void
service_reloading(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
	    (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void
service_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void
service_status(const char *text)
{
	sd_notifyf(0, "STATUS=%s", text);
}

#else

int
service_listen_fd(void)
{
	return -1;
}

void
service_start(void)
{
}

void
service_stop(void)
{
}

void
service_ready(void)
{
}

void
service_reloading(void)
{
}

void
service_stopping(void)
{
}

void
service_status(const char *text)
{
	(void)text;
}

#endif
