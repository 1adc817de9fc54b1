/*
 * The reckoning. Promise: nothing is printed or noted before all is known, and every text of the
 * provider's is escaped where it is shown. What is a finding does not belong here. Owns a temporary
 * file with the list, and of findings as many as are shown or noted, bounded in number.
 */
#include "reckon.h"

#include "alloc.h"
#include "ask.h"
#include "csv.h"
#include "show.h"
#include "table.h"
#include "tempfile.h"
#include "text.h"
#include "wording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN_MAX 20	    /* findings, and bad rows, that people are shown */
#define TOLD_MAX 1000	    /* findings in the JSON, incidents that one run opens */
#define INCIDENT_BYTES 1000 /* of a reason, and of evidence */
#define REFERENCE_BYTES 255

/* A finding as it is shown; owned texts, "" for none. */
struct shown {
	enum match_class class;
	char *reference, *key, *effect, *next, *more;
};

struct reckon {
	const char *tool, *ns;
	bool all;
	uint64_t n[MATCH_CLASSES], n_findings, n_bad, n_serious;
	struct csv csv;
	struct tempfile_writer *writer;
	char *why;
	struct shown shown[SHOWN_MAX];
	size_t n_shown, n_told;
	struct buf told, bad; /* JSON elements, comma-joined */
	char *bad_lines[SHOWN_MAX];
	size_t n_bad_lines;
	struct tempfile_writer *incidents; /* params, a line each; NULL = none are wanted */
};

static const char *const head[] = {"class", "line", "reference", "time", "effect", "key", "state",
    "attempt", "claimed_at", "done_at", "field", "ledger", "provider", "text", "next", NULL};

static void
free_list(struct tempfile_writer *list)
{
	if (list)
		close(list->fd);
	free(list);
}

static bool
new_list(struct tempfile_writer **ret, char **ret_why)
{
	int fd = tempfile_open();

	if (fd < 0) {
		*ret_why = xasprintf("cannot make a temporary file in \"%s\": %s",
		    tempfile_folder(), strerror(errno));
		return false;
	}
	*ret = xmalloc(sizeof **ret);
	tempfile_writer_init(*ret, fd, 0);
	return true;
}

struct reckon *
reckon_new(const char *tool, const char *ns, bool all, bool open, char **ret_why)
{
	struct reckon *r = xcalloc(1, sizeof *r);

	r->tool = tool;
	r->ns = ns;
	r->all = all;
	if (!new_list(&r->writer, ret_why) || (open && !new_list(&r->incidents, ret_why))) {
		reckon_free(r);
		return NULL;
	}
	csv_line(&r->csv, head);
	return r;
}

void
reckon_free(struct reckon *r)
{
	if (!r)
		return;
	free_list(r->writer);
	free_list(r->incidents);
	buf_free(&r->csv.out);
	buf_free(&r->told);
	buf_free(&r->bad);
	for (size_t i = 0; i < r->n_shown; i++) {
		free(r->shown[i].reference);
		free(r->shown[i].key);
		free(r->shown[i].effect);
		free(r->shown[i].next);
		free(r->shown[i].more);
	}
	for (size_t i = 0; i < r->n_bad_lines; i++)
		free(r->bad_lines[i]);
	free(r->why);
	free(r);
}

const char *
reckon_why(const struct reckon *r)
{
	return r->why;
}

uint64_t
reckon_n_findings(const struct reckon *r)
{
	return r->n_findings;
}

uint64_t
reckon_n_bad(const struct reckon *r)
{
	return r->n_bad;
}

const char *
reckon_first_bad(const struct reckon *r)
{
	return r->n_bad_lines > 0 ? r->bad_lines[0] : NULL;
}

/* ---- one finding ---- */

static void
add_to(struct reckon *r, struct tempfile_writer *list, const struct buf *text)
{
	if (!r->why && !tempfile_write(list, text->data, text->len))
		r->why = xasprintf("cannot write to a temporary file in \"%s\": %s",
		    tempfile_folder(), strerror(errno));
}

static void
add_line(struct reckon *r, const struct match_finding *f, struct wording *w)
{
	const char *const cells[] = {match_class_name(f->class), w->line, w->reference,
	    buf_str(&w->time), w->effect, w->key ? w->key : "", w->state ? w->state : "",
	    w->attempt, buf_str(&w->claimed), buf_str(&w->done), f->field ? f->field : "",
	    f->ledger ? f->ledger : "", f->provider ? f->provider : "", wording_text(f),
	    buf_str(&w->next), NULL};

	csv_line(&r->csv, cells);
	if (r->csv.out.len < TEMPFILE_BLOCK_BYTES)
		return;
	add_to(r, r->writer, &r->csv.out);
	buf_clear(&r->csv.out);
}

static void
add_member(struct buf *out, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	buf_json_member(out, name);
	buf_json_string(out, text, strlen(text));
}

static void
add_told(struct reckon *r, const struct match_finding *f, struct wording *w)
{
	struct buf *out = &r->told;

	buf_add_str(out, r->n_told++ > 0 ? ",{" : "{");
	buf_json_member_str(out, "class", match_class_name(f->class));
	if (f->row)
		buf_json_member_int(out, "line", (int64_t)f->row->line);
	add_member(out, "reference", w->reference);
	add_member(out, "time", buf_str(&w->time));
	add_member(out, "effect", w->effect);
	add_member(out, "key", w->key);
	add_member(out, "state", w->state);
	if (f->effect)
		buf_json_member_int(out, "attempt", f->effect->attempt);
	add_member(out, "claimed_at", buf_str(&w->claimed));
	add_member(out, "done_at", buf_str(&w->done));
	add_member(out, "field", f->field);
	add_member(out, "ledger", f->ledger);
	add_member(out, "provider", f->provider);
	add_member(out, "text", wording_text(f));
	add_member(out, "next", buf_str(&w->next));
	buf_add_char(out, '}');
}

static void
add_shown(struct reckon *r, const struct match_finding *f, struct wording *w)
{
	struct shown *s = &r->shown[r->n_shown++];

	s->class = f->class;
	s->reference = xstrdup(w->reference);
	s->key = xstrdup(w->key ? w->key : "");
	s->effect = xstrdup(w->effect);
	s->next = xstrdup(buf_str(&w->next));
	/* what differs; of a row without an effect, where it stands */
	s->more = f->words ? xstrdup(f->words)
	    : f->effect	   ? xstrdup("")
			   : xasprintf("line %s%s%s", w->line, w->time.len > 0 ? ", at " : "",
				 buf_str(&w->time));
}

/* A member of at most n bytes, cut at a character's edge. */
static void
add_cut(struct buf *out, const char *name, const char *text, size_t n)
{
	size_t len = strlen(text);

	if (len > n)
		for (len = n; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
			;
	buf_json_member(out, name);
	buf_json_string(out, text, len);
}

/*
 * The params of an incident. The evidence says what was found, and not where in which file, so that
 * the same finding of another file is the same incident.
 */
static void
add_incident(struct reckon *r, const struct match_finding *f, struct wording *w)
{
	struct buf out = {0}, reason = {0}, evidence = {0};
	char *reference;

	buf_add_char(&out, '{');
	if (f->effect) {
		buf_json_member_str(&out, "effect", w->effect);
	} else {
		reference = xstrdup(w->reference);
		text_blank_control(reference, strlen(reference));
		add_member(&out, "tool", r->tool);
		add_member(&out, "namespace", r->ns);
		add_cut(&out, "reference", reference, REFERENCE_BYTES);
		free(reference);
	}
	buf_printf(&reason, "%s: %s", match_class_name(f->class), wording_text(f));
	add_cut(&out, "reason", buf_str(&reason), INCIDENT_BYTES);
	if (f->row)
		buf_printf(&evidence, "at the provider: %s", w->reference);
	else
		buf_printf(&evidence, "not at the provider; done at %s", buf_str(&w->done));
	if (w->time.len > 0)
		buf_printf(&evidence, ", at %s", buf_str(&w->time));
	if (f->field)
		buf_printf(&evidence, "; %s", f->words);
	add_cut(&out, "evidence", buf_str(&evidence), INCIDENT_BYTES);
	buf_add_str(&out, "}\n");
	add_to(r, r->incidents, &out);
	buf_free(&out);
	buf_free(&reason);
	buf_free(&evidence);
}

void
reckon_found(void *arg, const struct match_finding *f)
{
	bool is_finding = match_class_is_finding(f->class);
	/* the first of several rows is the one that was meant, or stands for it */
	bool is_serious =
	    match_class_is_serious(f->class) && (f->class != MATCH_DOUBLED || f->again);
	struct reckon *r = arg;
	struct wording w;

	r->n[f->class]++;
	r->n_findings += is_finding;
	r->n_serious += is_serious;
	if (!is_finding && !r->all)
		return;
	wording_make(&w, f);
	add_line(r, f, &w);
	if (is_finding && r->n_told < TOLD_MAX)
		add_told(r, f, &w);
	if (is_finding && r->n_shown < SHOWN_MAX)
		add_shown(r, f, &w);
	if (is_serious && r->incidents)
		add_incident(r, f, &w);
	wording_free(&w);
}

void
reckon_bad(struct reckon *r, uint64_t line, const char *why)
{
	r->n_bad++;
	if (r->n_bad_lines == SHOWN_MAX)
		return;
	r->bad_lines[r->n_bad_lines] = xasprintf("line %llu: %s", (unsigned long long)line, why);
	buf_add_str(&r->bad, r->n_bad_lines++ > 0 ? ",{" : "{");
	buf_json_member_int(&r->bad, "line", (int64_t)line);
	buf_json_member_str(&r->bad, "why", why);
	buf_add_char(&r->bad, '}');
}

/* ---- when all is known ---- */

/* The incidents from their first, for one reader; NULL: errno says why. */
static FILE *
open_incidents(struct reckon *r)
{
	int fd = tempfile_flush(r->incidents) ? fcntl(r->incidents->fd, F_DUPFD_CLOEXEC, 0) : -1;
	FILE *lines = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !lines)
		close(fd);
	return lines;
}

/* The exit code. */
static int
open_one(const struct ctl *ctl, struct ask *what, struct reckon_sum *sum)
{
	struct ask_answer answer = {0};
	char *why = NULL;
	int err = ask(ctl, what, &answer, NULL, &why);
	int code = show_asked(ctl, err, why, &answer);

	if (code == CTL_OK && ask_true(&answer, answer.result, "already"))
		sum->n_already++;
	else if (code == CTL_OK)
		sum->n_opened++;
	ask_answer_free(&answer);
	return code;
}

int
reckon_open(struct reckon *r, const struct ctl *ctl, int64_t deadline_ms, bool (*stopped)(void),
    struct reckon_sum *sum)
{
	struct ask what = {.method = "incident", .again = ASK_ALWAYS, .deadline_ms = deadline_ms};
	FILE *lines = open_incidents(r);
	int code = CTL_OK;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	sum->opened = true;
	while (lines && code == CTL_OK && sum->n_opened < TOLD_MAX && !stopped() &&
	    (len = getline(&line, &size, lines)) > 0) {
		what.params = line;
		what.params_len = (size_t)len - 1;
		code = open_one(ctl, &what, sum);
	}
	sum->n_left = r->n_serious - sum->n_opened - sum->n_already;
	if (!lines || ferror(lines))
		code = show_failure(ctl, CTL_BUG, "output",
		    "%s: cannot use a temporary file in \"%s\": %s", ctl->verb, tempfile_folder(),
		    strerror(errno));
	if (lines)
		fclose(lines);
	free(line);
	return code;
}

/* The list as it stands on disk, into fd. */
static bool
copy_list(struct reckon *r, int fd)
{
	char block[TEMPFILE_BLOCK_BYTES];
	off_t at = 0;
	ssize_t n, done;

	if (!tempfile_write(r->writer, r->csv.out.data, r->csv.out.len) ||
	    !tempfile_flush(r->writer))
		return false;
	buf_clear(&r->csv.out);
	while ((n = pread(r->writer->fd, block, sizeof block, at)) != 0) {
		if (n < 0 && errno != EINTR)
			return false;
		for (ssize_t from = 0; from < n; from += done) {
			done = write(fd, block + from, (size_t)(n - from));
			if (done < 0 && errno != EINTR)
				return false;
			if (done < 0)
				done = 0;
		}
		at += n > 0 ? n : 0;
	}
	return true;
}

/* Beside `path` first, so that it is there whole or as it was. */
static bool
replace_file(struct reckon *r, const char *path)
{
	char *beside = xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(beside, O_CLOEXEC), err;
	mode_t mask = umask(0);
	bool ok = fd >= 0;

	umask(mask);
	if (ok) {
		ok = fchmod(fd, 0666 & ~mask) == 0 && copy_list(r, fd) && fsync(fd) == 0;
		err = errno;
		ok = close(fd) == 0 && ok && rename(beside, path) == 0;
		if (!ok && err == 0)
			err = errno;
		if (!ok) {
			unlink(beside);
			errno = err;
		}
	}
	free(beside);
	return ok;
}

/* A device or a pipe is written to as it is. */
static bool
write_to(struct reckon *r, const char *path)
{
	struct stat st;
	bool ok;
	int fd;

	if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
		return replace_file(r, path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = copy_list(r, fd);
	return close(fd) == 0 && ok;
}

bool
reckon_write(struct reckon *r, const char *path, char **ret_why)
{
	if (path ? write_to(r, path) : copy_list(r, STDOUT_FILENO))
		return true;
	*ret_why =
	    xasprintf("cannot write \"%s\": %s", path ? path : "standard output", strerror(errno));
	return false;
}

/* ---- showing it ---- */

static void
show_counts(const struct reckon *r, struct buf *out)
{
	for (size_t i = 0; i < MATCH_CLASSES; i++)
		if (r->n[i] > 0)
			buf_printf(out, "%12llu  %s\n", (unsigned long long)r->n[i],
			    match_class_name((enum match_class)i));
	if (r->n_bad > 0)
		buf_printf(out, "%12llu  bad row%s\n", (unsigned long long)r->n_bad,
		    r->n_bad == 1 ? "" : "s");
}

static void
show_findings(const struct reckon *r, struct buf *out)
{
	for (size_t i = 0; i < r->n_shown; i++) {
		const struct shown *s = &r->shown[i];

		buf_printf(out, "\n%s", match_class_name(s->class));
		if (*s->reference) {
			buf_add_str(out, "  ");
			show_text(out, s->reference, strlen(s->reference));
		}
		if (*s->key) {
			buf_add_str(out, "  ");
			show_text(out, s->key, strlen(s->key));
		}
		if (*s->more) {
			buf_add_str(out, "\n    ");
			show_text(out, s->more, strlen(s->more));
		}
		if (*s->next) /* quoted for a shell, and so for a terminal */
			buf_printf(out, "\n    %s", s->next);
		else if (*s->effect)
			buf_printf(out, "  %s", s->effect);
	}
	if (r->n_shown > 0)
		buf_add_char(out, '\n');
	if (r->n_findings > r->n_shown)
		buf_printf(out, "\nand %llu more: --out FILE has them all\n",
		    (unsigned long long)(r->n_findings - r->n_shown));
}

static void
show_rest(const struct reckon *r, const struct reckon_sum *sum, struct buf *out)
{
	for (size_t i = 0; i < r->n_bad_lines; i++)
		buf_printf(out, "%s%s\n", i == 0 ? "\n" : "", r->bad_lines[i]);
	if (r->n_bad > 0)
		buf_add_str(out,
		    "\nrows could not be read: nothing is told to be missing at the provider\n");
	if (sum->opened)
		buf_printf(out, "\nincidents: %llu opened, %llu were there already, %llu left\n",
		    (unsigned long long)sum->n_opened, (unsigned long long)sum->n_already,
		    (unsigned long long)sum->n_left);
}

void
reckon_show(const struct reckon *r, const struct reckon_sum *sum, bool to_stderr, bool has_list)
{
	struct buf out = {0};

	show_text(&out, r->tool, strlen(r->tool));
	buf_add_str(&out, ", ");
	buf_instant(&out, sum->from_us);
	buf_add_str(&out, " to ");
	buf_instant(&out, sum->to_us);
	buf_printf(&out, ": %llu row%s and %llu effect%s\n\n", (unsigned long long)sum->n_rows,
	    sum->n_rows == 1 ? "" : "s", (unsigned long long)sum->n_effects,
	    sum->n_effects == 1 ? "" : "s");
	show_counts(r, &out);
	if (!has_list)
		show_findings(r, &out);
	show_rest(r, sum, &out);
	fwrite(out.data, 1, out.len, to_stderr ? stderr : stdout);
	buf_free(&out);
}

void
reckon_json(const struct reckon *r, const struct reckon_sum *sum)
{
	struct buf out = {0};

	buf_add_char(&out, '{');
	buf_json_member(&out, "tool");
	buf_json_string(&out, r->tool, strlen(r->tool));
	if (r->ns)
		buf_json_member_str(&out, "namespace", r->ns);
	buf_json_member_instant(&out, "from", sum->from_us);
	buf_json_member_instant(&out, "to", sum->to_us);
	buf_json_member_int(&out, "rows", (int64_t)sum->n_rows);
	buf_json_member_int(&out, "skipped", (int64_t)sum->n_skipped);
	buf_json_member_int(&out, "bad", (int64_t)r->n_bad);
	buf_json_member_int(&out, "effects", (int64_t)sum->n_effects);
	buf_add_str(&out, ",\"classes\":{");
	for (size_t i = 0; i < MATCH_CLASSES; i++)
		buf_json_member_int(&out, match_class_name((enum match_class)i), (int64_t)r->n[i]);
	buf_add_str(&out, "}");
	buf_json_member_int(&out, "n_findings", (int64_t)r->n_findings);
	buf_add_str(&out, ",\"findings\":[");
	buf_add(&out, r->told.data, r->told.len);
	buf_add_str(&out, "],\"bad_rows\":[");
	buf_add(&out, r->bad.data, r->bad.len);
	buf_add_char(&out, ']');
	if (sum->opened)
		buf_printf(&out, ",\"incidents\":{\"opened\":%llu,\"already\":%llu,\"left\":%llu}",
		    (unsigned long long)sum->n_opened, (unsigned long long)sum->n_already,
		    (unsigned long long)sum->n_left);
	buf_add_char(&out, '}');
	show_schema("reconcile", out.data, out.len);
	buf_free(&out);
}
