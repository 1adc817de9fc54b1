/*
 * The program: options, build-up, signals, reload, drain, tear-down. Exports nothing; what it knows
 * it hands down.
 *
 * Owns the config in force, the policies and the rights. The config struct itself stays for life: a
 * reload moves new values into it, and what they replaced is kept to the end, as modules and
 * requests in flight may still borrow it.
 */
#include "access.h"
#include "alloc.h"
#include "batch.h"
#include "child.h"
#include "client.h"
#include "config.h"
#include "digest.h"
#include "embedded.h"
#include "flush.h"
#include "http.h"
#include "httpd.h"
#include "instance.h"
#include "log.h"
#include "loop.h"
#include "method.h"
#include "metrics.h"
#include "pgpool.h"
#include "policies.h"
#include "programs.h"
#include "scrape.h"
#include "server.h"
#include "service.h"
#include "state.h"
#include "sweeper.h"
#include "tool.h"
#include "upkeep.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_MORE_MS 1000 /* beyond request_timeout */
#define FLUSH_MORE_MS 1000 /* beyond that, for the counts */
#define DATABASE_STOP_MS 20000
#define RESTART_KEYS_MAX 32
#define SIGNALS 3

enum flag {
	FLAG_SOCKET = 256,
	FLAG_DATABASE,
	FLAG_STATE_DIR,
	FLAG_TOOLS,
	FLAG_METRICS,
	FLAG_LOG_LEVEL,
	FLAG_CHECK,
	FLAG_PRINT_CONFIG,
	FLAG_VERSION,
	FLAG_HELP
};

/* What a reload replaced. */
struct retired {
	struct retired *next;
	struct config *config;
	struct access *access;
};

enum phase { SERVING, DRAINING, FLUSHING, STOPPED };

static struct config_flags flags;
static bool only_check, only_print;
static struct config *config;
static struct access *access_in_force;
static struct tool_set *tools;
static struct retired *retired;
static struct event *signals[SIGNALS];
static enum phase phase;
static struct loop_timer *drain_timer;
static bool embedded;

static const char usage_text[] =
    "usage: effectd [-c FILE] [--socket PATH] [--database CONNINFO|embedded] [--state-dir DIR]\n"
    "               [--tools DIR] [--metrics-listen HOST:PORT] [--log-level LEVEL]\n"
    "               [--check] [--print-config] [--version] [--help]\n";

/* ---- options ---- */

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},
    {"socket", required_argument, NULL, FLAG_SOCKET},
    {"database", required_argument, NULL, FLAG_DATABASE},
    {"state-dir", required_argument, NULL, FLAG_STATE_DIR},
    {"tools", required_argument, NULL, FLAG_TOOLS},
    {"metrics-listen", required_argument, NULL, FLAG_METRICS},
    {"log-level", required_argument, NULL, FLAG_LOG_LEVEL},
    {"check", no_argument, NULL, FLAG_CHECK},
    {"print-config", no_argument, NULL, FLAG_PRINT_CONFIG},
    {"version", no_argument, NULL, FLAG_VERSION},
    {"help", no_argument, NULL, FLAG_HELP},
    {NULL, 0, NULL, 0},
};

/* Returns -1 to go on, else an exit code. */
static int
main_option(int option)
{
	switch (option) {
	case 'c':
		flags.file = optarg;
		return -1;
	case FLAG_SOCKET:
		flags.socket = optarg;
		return -1;
	case FLAG_DATABASE:
		flags.database = optarg;
		return -1;
	case FLAG_STATE_DIR:
		flags.state_dir = optarg;
		return -1;
	case FLAG_TOOLS:
		flags.tools_dir = optarg;
		return -1;
	case FLAG_METRICS:
		flags.metrics_listen = optarg;
		return -1;
	case FLAG_LOG_LEVEL:
		flags.log_level = optarg;
		return -1;
	case FLAG_CHECK:
		only_check = true;
		return -1;
	case FLAG_PRINT_CONFIG:
		only_print = true;
		return -1;
	case FLAG_VERSION:
		printf("effectd %s\n", PACKAGE_VERSION);
		return EX_OK;
	case FLAG_HELP:
		fputs(usage_text, stdout);
		return EX_OK;
	default:
		fputs(usage_text, stderr);
		return EX_USAGE;
	}
}

static int
main_options(int argc, char **argv)
{
	int option, rc = -1;

	while (rc < 0 && (option = getopt_long(argc, argv, "c:", options, NULL)) != -1)
		rc = main_option(option);
	if (rc < 0 && optind < argc) {
		fprintf(stderr, "effectd: unexpected argument '%s'\n%s", argv[optind], usage_text);
		rc = EX_USAGE;
	}
	return rc;
}

/* One line, then the way out. Takes the text. */
static int
main_fail(int status, char *error)
{
	log_error("start", "%s, giving up", error ? error : "unknown error");
	free(error);
	return status;
}

/* ---- config, policies, rights: all or nothing ---- */

/* On failure nothing is changed, and *ret_error is one line. */
static bool
main_load(struct config **ret_config, struct access **ret_access, struct tool_set **ret_tools,
    char **ret_error)
{
	struct config *c = config_load(&flags, ret_error);
	struct access *a = NULL;
	struct tool_set *t = NULL;
	bool missing = false;

	if (c)
		a = access_new(c, ret_error);
	if (a)
		t = tool_set_load(c->tools_dir, c->trust_annotations, &missing, ret_error);
	if (!t) {
		access_free(a);
		config_free(c);
		return false;
	}
	if (missing)
		log_warn(
		    "tools", "there is no folder '%s', going on without policies", c->tools_dir);
	programs_warn(c, t);
	*ret_config = c;
	*ret_access = a;
	*ret_tools = t;
	return true;
}

static void
main_use_log(void)
{
	enum log_level level = LOG_LEVEL_INFO;
	enum log_format format = LOG_FORMAT_TEXT;

	if (!log_level_parse(config->log_level, &level) ||
	    !log_format_parse(config->log_format, &format))
		assert(!"config_load() lets only known names through");
	log_init(level, format);
}

/* One warning for all that waits for the next start. */
static void
main_warn_restart(const struct config *loaded)
{
	const char *keys[RESTART_KEYS_MAX];
	size_t n = config_restart_keys(config, loaded, keys, RESTART_KEYS_MAX);
	struct buf names = {0};

	for (size_t i = 0; i < n && i < RESTART_KEYS_MAX; i++)
		buf_printf(&names, "%s%s", i > 0 ? ", " : "", keys[i]);
	if (n > 0)
		log_warn(
		    "reload", "changed but used only from the next start on: %s", buf_str(&names));
	buf_free(&names);
}

static void
main_reload(void)
{
	struct config *loaded;
	struct access *access;
	struct tool_set *new_tools;
	struct retired *old;
	char *error = NULL;

	service_reloading();
	if (!main_load(&loaded, &access, &new_tools, &error)) {
		log_error("reload", "%s, going on as before", error);
		free(error);
		scrape_reloaded(false);
		service_ready();
		return;
	}
	main_warn_restart(loaded);
	config_adopt(config, loaded);
	old = xmalloc(sizeof *old);
	*old = (struct retired){.next = retired, .config = loaded, .access = access_in_force};
	retired = old;
	access_in_force = access;
	main_use_log();
	server_set_access(access_in_force);
	client_judge_all(access_in_force);
	method_use(config, new_tools);
	sweeper_use(new_tools);
	policies_use(config, access_in_force, new_tools);
	scrape_use(config, access_in_force, new_tools);
	scrape_reloaded(true);
	tool_set_free(tools);
	tools = new_tools;
	log_info("reload", "config and policies are in force");
	service_ready();
}

/* ---- what is told about the ledger ---- */

static void
main_ledger_changed(void)
{
	const struct pgpool_status *s = pgpool_status();
	time_t since = (time_t)(s->since_us / 1000000);
	char instant[32], text[512];
	struct tm tm;

	gmtime_r(&since, &tm);
	strftime(instant, sizeof instant, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (s->up)
		snprintf(text, sizeof text, "Serving; ledger up since %s, PostgreSQL %s", instant,
		    s->server_version);
	else
		snprintf(text, sizeof text, "Serving; ledger away since %s: %s", instant, s->error);
	if (phase == SERVING)
		service_status(text);
	if (phase == SERVING && s->up)
		policies_tell();
}

/* ---- the end ---- */

/* The counts go last, when all that they count is answered. A ledger that is away does not get
 * them. */
static void
main_flush(void)
{
	upkeep_stop();
	phase = pgpool_status()->up ? FLUSHING : STOPPED;
	if (phase == FLUSHING)
		flush_end();
	else
		loop_stop();
}

static void
main_drain_over_cb(void *arg)
{
	(void)arg;
	if (phase == DRAINING) {
		log_warn("stop", "requests or notices are still in flight, stopping all the same");
		loop_timer_set(drain_timer, FLUSH_MORE_MS);
		main_flush();
		return;
	}
	phase = STOPPED;
	loop_stop();
}

/* SIGTERM: nothing new is begun; what was begun gets its time. */
static void
main_drain(void)
{
	log_info("stop", "stopping, %u requests in flight", client_n_requests());
	phase = DRAINING;
	service_stopping();
	server_stop();
	httpd_stop();
	sweeper_stop();
	client_drain();
	policies_stop();
	drain_timer = loop_timer_new(main_drain_over_cb, NULL);
	loop_timer_set(drain_timer, config->request_timeout_ms + DRAIN_MORE_MS);
}

/* End-of-pass hook: is the drain done? */
static void
main_drain_look(void)
{
	/* Words owed to the ledger while it is away are no reason to stay: whoever waits for them
	 * was told so. */
	bool idle = batch_in_flight() == 0 && (batch_queued() == 0 || !pgpool_status()->up);

	if (phase == DRAINING && client_idle() && method_n_open() == 0 && sweeper_idle() && idle) {
		main_flush();
		loop_again();
	} else if (phase == FLUSHING && flush_ended() && idle) {
		phase = STOPPED;
		loop_stop();
	}
}

static void
main_signal_cb(evutil_socket_t signo, short what, void *arg)
{
	(void)what;
	(void)arg;
	if (signo == SIGHUP) {
		if (phase == SERVING)
			main_reload();
	} else if (phase == SERVING) {
		main_drain();
	} else {
		log_warn("stop", "stopping at once");
		phase = STOPPED;
		loop_stop();
	}
}

static void
main_database_stopped_cb(void)
{
	loop_stop();
}

static void
main_database_late_cb(void *arg)
{
	(void)arg;
	log_warn("stop", "the database takes long to stop, leaving it to itself");
	loop_stop();
}

static void
main_stop_database(void)
{
	drain_timer = loop_timer_new(main_database_late_cb, NULL);
	loop_timer_set(drain_timer, DATABASE_STOP_MS);
	embedded_stop(main_database_stopped_cb);
	loop_run();
	loop_timer_free(drain_timer);
	drain_timer = NULL;
}

static void
main_free_signals(void)
{
	for (int i = 0; i < SIGNALS; i++)
		event_free(signals[i]);
}

static void
main_tear_down(void)
{
	loop_timer_free(drain_timer);
	drain_timer = NULL;
	sweeper_stop();
	sweeper_kill();
	policies_stop();
	upkeep_stop();
	flush_stop();
	client_close_all();
	server_stop();
	httpd_stop();
	method_stop();
	pgpool_stop();
	if (embedded)
		main_stop_database();
	batch_free();
	child_stop();
	http_stop();
	service_stop();
	main_free_signals();
	loop_free();
	server_close();
	state_close();
}

static void
main_free(void)
{
	struct retired *r;

	while ((r = retired)) {
		retired = r->next;
		access_free(r->access);
		config_free(r->config);
		free(r);
	}
	tool_set_free(tools);
	access_free(access_in_force);
	config_free(config);
	metrics_free();
}

/* ---- the beginning ---- */

/* Descriptors 0 to 2 are open and all we may have are ours to use, so that no file of ours is ever
 * taken for stderr. */
static void
main_process(void)
{
	struct rlimit limit;
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	umask(022);
	signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			log_warn(
			    "start", "cannot raise the limit of open files: %s", strerror(errno));
	}
	srandom((unsigned)(getpid() ^ time(NULL)));
}

/* Before the socket is there: who sees it may send a signal. One that comes early waits for the
 * loop. */
static void
main_signals(void)
{
	static const int signos[SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

	for (int i = 0; i < SIGNALS; i++) {
		signals[i] = evsignal_new(loop_base, signos[i], main_signal_cb, NULL);
		assert(signals[i]);
		event_add(signals[i], NULL);
	}
}

/* Everything that can be refused, before anything is served. Returns 0 or an exit code. */
static int
main_claim_places(void)
{
	bool has_instance = false;
	char *error = NULL;
	int fd = service_listen_fd(), rc;

	if (fd == ERR_CONFLICT)
		return main_fail(EX_CONFIG, xstrdup("more than one socket was handed over"));
	rc = server_open(config, fd, &error);
	if (rc == 0)
		rc = httpd_open(config, &error);
	if (rc == 0)
		rc = state_open(config, &has_instance, &error);
	embedded = strcmp(config->database, "embedded") == 0;
	if (rc == 0 && embedded && embedded_start(config, has_instance, &error) < 0) {
		embedded = false;
		rc = EX_CONFIG;
	}
	/* after the database's folder is there: an instance without one is a lost ledger */
	if (rc == 0 && instance_load(config->state_dir, &error) < 0)
		rc = EX_OSERR;
	return rc == 0 ? 0 : main_fail(rc, error);
}

/* The order is that of the layers: who is called stands before who calls. */
static void
main_build(void)
{
	batch_init((unsigned)config->batch_max);
	client_init(config, method_bound_closed);
	sweeper_use(tools);
	server_set_access(access_in_force);
	loop_add_pass_end(client_resume);
	loop_add_pass_end(batch_flush);
	loop_add_pass_end(client_flush);
	loop_add_pass_end(httpd_look);
	loop_add_pass_end(main_drain_look);
	pgpool_start(config, main_ledger_changed);
	sweeper_start(config);
	policies_use(config, access_in_force, tools);
	scrape_use(config, access_in_force, tools);
	upkeep_start();
	flush_start();
	service_start();
	server_start();
}

static int
main_serve(void)
{
	int rc;

	loop_init();
	child_init();
	http_init();
	main_signals();
	method_init(config, tools);
	rc = main_claim_places();
	if (rc != 0) {
		main_free_signals();
		if (embedded)
			main_stop_database();
		httpd_stop();
		server_close();
		state_close();
		child_stop();
		http_stop();
		loop_free();
		return rc;
	}
	main_build();
	log_info("start", "effectd %s listens on '%s'", PACKAGE_VERSION, config->socket);
	service_ready();
	main_ledger_changed();
	loop_run();
	main_tear_down();
	log_info("stop", "stopped");
	return EX_OK;
}

int
main(int argc, char **argv)
{
	char *error = NULL;
	int rc = main_options(argc, argv);

	if (rc >= 0)
		return rc;
	main_process();
	digest_init();
	if (!main_load(&config, &access_in_force, &tools, &error))
		return main_fail(EX_CONFIG, error);
	main_use_log();
	rc = EX_OK;
	if (only_print)
		config_print(config, stdout);
	else if (!only_check)
		rc = main_serve();
	main_free();
	return rc;
}
