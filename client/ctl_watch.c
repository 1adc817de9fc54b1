/*
 * watch: how the daemon and its ledger are, again and again: what begin tells a second, by decision
 * and by tool, what is open, and what waits for a person. On a terminal a screen that is redrawn,
 * else a block of lines each time. A look costs the daemon its memory alone; only every few seconds
 * the newest escalations and incidents are asked for, along their index. It goes on while there is
 * no daemon.
 */
#include "alloc.h"
#include "ask.h"
#include "buf.h"
#include "conn.h"
#include "ctl.h"
#include "rates.h"
#include "screen.h"
#include "show.h"
#include "signals.h"
#include "text.h"
#include "usage.h"
#include "vitals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INTERVAL_MS 2000
#define INTERVAL_MS_MIN 100
#define INTERVAL_MS_MAX 3600000
#define COUNT_MAX 1000000
#define ASK_MS 2000	   /* how long a daemon that does not answer is waited for */
#define ATTENTION_MS 10000 /* between two looks at the ledger's lists */
#define ATTENTION_N 5
#define TOOLS_N 12

struct watch {
	const struct ctl *ctl;
	int64_t interval_ms, count; /* count 0: for ever */
	struct screen screen;
	struct rates rates;
	struct buf attention; /* lines */
	int64_t attention_ms; /* when they were asked for; 0: never */
	char *why;	      /* owned: why there was no answer; NULL: there was one */
	int64_t away_ms;      /* since when */
	int code;
};

/* ---- asking ---- */

static bool
ask_for(const struct watch *w, const char *method, const char *params, struct ask_answer *ret,
    char **ret_why)
{
	struct ask what = {.method = method,
	    .params = params,
	    .params_len = strlen(params),
	    .again = ASK_ONCE,
	    .deadline_ms = ASK_MS};
	int err = ask(w->ctl, &what, ret, NULL, ret_why);

	return !err && !ret->error;
}

/* One line for each of the newest: when, which tool and key, and its word. */
static void
add_list(struct watch *w, const char *title, const char *params, const char *list_name,
    const char *at, const char *word)
{
	const char *const names[] = {at, "tool", "key", word};
	struct ask_answer a = {0};
	uint32_t node;
	char *why = NULL, *text;

	if (ask_for(w, "list", params, &a, &why)) {
		node = ask_first(&a, a.result, list_name);
		if (node)
			buf_printf(&w->attention, "\n%s\n", title);
		for (; node; node = a.doc.nodes[node].next) {
			buf_add_char(&w->attention, ' ');
			for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
				text = names[i] ? ask_text(&a, node, names[i]) : NULL;
				if (text) {
					buf_add_char(&w->attention, ' ');
					show_text(&w->attention, text, strlen(text));
				}
				free(text);
			}
			buf_add_char(&w->attention, '\n');
		}
	}
	free(why);
	ask_answer_free(&a);
}

/* What waits for a person, where the peer may list it. */
static void
look_at_attention(struct watch *w)
{
	char params[64];

	if (w->attention_ms && conn_now_ms() - w->attention_ms < ATTENTION_MS)
		return;
	w->attention_ms = conn_now_ms();
	buf_clear(&w->attention);
	snprintf(params, sizeof params, "{\"state\":\"escalated\",\"limit\":%d}", ATTENTION_N);
	add_list(w, "escalated: a person must decide", params, "effects", "since", "effect");
	snprintf(params, sizeof params, "{\"incidents\":true,\"limit\":%d}", ATTENTION_N);
	add_list(w, "incidents", params, "incidents", "at", "reason");
}

/* ---- the picture ---- */

static void
add_rate(struct buf *out, double per_s)
{
	buf_printf(out, per_s >= 100 ? "%.0f" : "%.1f", per_s);
}

static void
add_rates(struct watch *w, struct buf *out)
{
	const struct rates *r = &w->rates;

	buf_add_str(out, "begins/s ");
	if (!r->known) {
		buf_add_str(out, "-\n");
		return;
	}
	add_rate(out, r->total.per_s);
	for (size_t i = 0; i < r->n_decisions; i++) {
		if (r->total.by_decision[i] <= 0)
			continue;
		buf_add_str(out, ", ");
		show_text(out, r->decisions[i], strlen(r->decisions[i]));
		buf_add_char(out, ' ');
		add_rate(out, r->total.by_decision[i]);
	}
	buf_add_str(out, r->restarted ? "; the daemon was started anew\n" : "\n");
}

/* By name, so that a column is the same whatever came first. */
static double
rate_of(const struct rates *r, const struct rates_row *row, const char *decision)
{
	for (size_t i = 0; i < r->n_decisions; i++)
		if (!strcmp(r->decisions[i], decision))
			return row->by_decision[i];
	return 0;
}

static void
add_tools(struct watch *w, struct buf *out)
{
	static const char *const columns[] = {
	    "run", "ran", "replay", "busy", "unknown", "mismatch"};
	const struct rates *r = &w->rates;
	struct buf cell = {0};

	if (r->n_tools == 0)
		return;
	buf_printf(out, "\n%9s", "a second");
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		buf_printf(out, "%10s", columns[i]);
	buf_add_str(out, "  tool\n");
	for (size_t t = 0; t < r->n_tools && t < TOOLS_N; t++) {
		buf_clear(&cell);
		add_rate(&cell, r->tools[t].per_s);
		buf_printf(out, "%9s", buf_str(&cell));
		for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
			buf_clear(&cell);
			add_rate(&cell, rate_of(r, &r->tools[t], columns[i]));
			buf_printf(out, "%10s", buf_str(&cell));
		}
		buf_add_str(out, "  ");
		if (strcmp(r->tools[t].ns, "default") != 0) {
			show_text(out, r->tools[t].ns, strlen(r->tools[t].ns));
			buf_add_char(out, '/');
		}
		show_text(out, r->tools[t].tool, strlen(r->tools[t].tool));
		buf_add_char(out, '\n');
	}
	if (r->n_tools > TOOLS_N)
		buf_printf(out, "%9zu more\n", r->n_tools - TOOLS_N);
	buf_free(&cell);
}

static void
add_clock(struct buf *out)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	if (localtime_r(&now, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm) > 0)
		buf_printf(out, "%s", text);
}

static void
draw(struct watch *w, struct buf *out)
{
	const struct ask_answer *info = &w->rates.last;

	add_clock(out);
	if (w->screen.is_terminal)
		buf_printf(out, ", every %g s; q ends", (double)w->interval_ms / 1000);
	buf_add_char(out, '\n');
	if (w->why) {
		buf_add_str(out, "effectd  no answer for ");
		vitals_duration(out, conn_now_ms() - w->away_ms);
		buf_add_str(out, ": ");
		show_text(out, w->why, strlen(w->why));
		buf_add_char(out, '\n');
		return;
	}
	vitals_daemon(out, info);
	vitals_ledger(out, info);
	vitals_sweeper(out, info);
	vitals_numbers(out, info, "queues", "queues");
	add_rates(w, out);
	vitals_open(out, info);
	buf_add(out, w->attention.data, w->attention.len);
	add_tools(w, out);
}

/* ---- the loop ---- */

static void
look(struct watch *w)
{
	struct ask_answer info = {0};
	char *why = NULL;
	bool was_away = w->why != NULL;

	free(w->why);
	w->why = NULL;
	if (ask_for(w, "info", "{\"begins\":true}", &info, &why)) {
		w->code = ask_true(&info, info.result, "ready") ? CTL_OK : CTL_UNAVAILABLE;
		rates_next(&w->rates, &info);
		if (w->code == CTL_OK && !w->ctl->json)
			look_at_attention(w);
		free(why);
	} else {
		w->code = CTL_UNAVAILABLE;
		w->why = why ? why : ask_text(&info, info.error, "message");
		if (!w->why)
			w->why = xstrdup("it answered with an error");
		if (!was_away)
			w->away_ms = conn_now_ms();
	}
	ask_answer_free(&info);
}

/* False: nobody reads it any more. */
static bool
show(struct watch *w)
{
	struct buf out = {0};
	const char *raw;
	size_t len;
	bool ok;

	if (w->ctl->json) {
		if (w->why) {
			show_failure(w->ctl, CTL_UNAVAILABLE, "unavailable", "%s", w->why);
		} else {
			raw = ask_raw(&w->rates.last, w->rates.last.result, &len);
			show_schema(w->ctl->verb, raw, len);
		}
		return fflush(stdout) == 0;
	}
	draw(w, &out);
	if (!w->screen.is_terminal && w->count != 1)
		buf_add_char(&out, '\n');
	ok = screen_show(&w->screen, &out);
	buf_free(&out);
	return ok;
}

static int
loop(struct watch *w)
{
	enum screen_event event = SCREEN_TIME;
	int64_t n = 0, next_ms = conn_now_ms(), left_ms;

	for (;;) {
		if (event == SCREEN_TIME) {
			look(w);
			n++;
			next_ms += w->interval_ms;
			if (next_ms < conn_now_ms()) /* it took longer: no look is made up for */
				next_ms = conn_now_ms();
		}
		if (!show(w))
			return CTL_BUG;
		if (w->count > 0 && n >= w->count)
			return w->code;
		left_ms = next_ms - conn_now_ms();
		event = screen_wait(&w->screen, left_ms > 0 ? left_ms : 0);
		if (event == SCREEN_QUIT || event == SCREEN_SIGNAL)
			return CTL_OK;
	}
}

static int
read_flags(struct watch *w, struct ctl *ctl)
{
	struct flag_set set = {0};
	const char *value;
	int code;

	flag_add(&set, "interval", 0, "DURATION", "between two looks (default: 2s)");
	flag_add(&set, "count", 0, "N", "end after so many (default: never)");
	if ((code = usage_read(ctl, &set, "", 0, 0)) != USAGE_GO_ON)
		return code;
	w->interval_ms = INTERVAL_MS;
	if ((value = usage_value(&set, "interval")) &&
	    (!text_duration_ms(value, &w->interval_ms) || w->interval_ms < INTERVAL_MS_MIN ||
		w->interval_ms > INTERVAL_MS_MAX))
		return show_failure(ctl, CTL_USAGE, "usage",
		    "watch: flag \"--interval\" takes a duration from 100ms to 1h, not \"%s\"",
		    value);
	if ((value = usage_value(&set, "count")) && !text_int(value, 1, COUNT_MAX, &w->count))
		return show_failure(ctl, CTL_USAGE, "usage",
		    "watch: flag \"--count\" takes a number from 1 to 1000000, not \"%s\"", value);
	return USAGE_GO_ON;
}

int
ctl_watch(struct ctl *ctl)
{
	struct watch w = {.ctl = ctl};
	int code = read_flags(&w, ctl);

	if (code != USAGE_GO_ON)
		return code;
	screen_start(&w.screen, !ctl->json);
	code = loop(&w);
	screen_end(&w.screen);
	rates_free(&w.rates);
	buf_free(&w.attention);
	free(w.why);
	if (screen_signal())
		signals_die(screen_signal());
	return code;
}
