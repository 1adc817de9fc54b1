/*
 * tools import [FILE|-]: an MCP server's list of tools becomes policies, one file a tool or an
 * array on standard output, with what must be decided marked so that they do not load before it is.
 * What comes in is a stranger's and bounded; a file that is there is never written to. Exit 1 where
 * a tool can have no policy.
 */
#include "tools_import.h"

#include "alloc.h"
#include "buf.h"
#include "json.h"
#include "show.h"
#include "skeleton.h"
#include "usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_BYTES_MAX (64U << 20)
#define TOOLS_MAX 10000 /* what a folder of policies may hold */
#define DEPTH_MAX 8

struct import {
	const struct ctl *ctl;
	const char *class; /* or NULL */
	int dir;	   /* or -1: standard output */
	const char *dir_name;
	struct buf out;	    /* the array */
	struct buf written; /* with --out: what became of each, as JSON or lines */
	size_t n, n_written, n_kept, n_refused;
	bool more;    /* the last page says that there is another one */
	char *broken; /* owned: why nothing more can be done; */
	int code;     /* and its exit code */
};

static void
break_off(struct import *i, int code, char *why)
{
	if (i->broken) {
		free(why);
		return;
	}
	i->code = code;
	i->broken = why;
}

/* ---- what comes in ---- */

static char *
read_all(const char *file, size_t *ret_len, char **ret_why)
{
	bool is_stdin = !strcmp(file, "-");
	int fd = is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct buf b = {0};
	char data[65536];
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && b.len <= INPUT_BYTES_MAX) {
		n = read(fd, data, sizeof data);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			buf_add(&b, data, (size_t)n);
	}
	if (n < 0)
		*ret_why = xasprintf("%s: %s", file, strerror(errno));
	else if (b.len > INPUT_BYTES_MAX)
		*ret_why = xasprintf("%s: more than %u MiB", file, INPUT_BYTES_MAX >> 20);
	if (fd >= 0 && !is_stdin)
		close(fd);
	if (*ret_why) {
		buf_free(&b);
		return NULL;
	}
	*ret_len = b.len;
	buf_add_char(&b, '\0');
	return b.data;
}

/* ---- what goes out ---- */

/* 0, or an errno; EEXIST is none of ours to touch. */
static int
write_file(const struct import *i, const char *name, const struct buf *text)
{
	int fd = openat(i->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	size_t done = 0;
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return errno;
	while (done < text->len && !err) {
		n = write(fd, text->data + done, text->len - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EINTR)
			err = errno;
	}
	if (close(fd) < 0 && !err)
		err = errno;
	if (err)
		(void)unlinkat(i->dir, name, 0);
	return err;
}

/* What became of one tool. */
static void
tell_one(struct import *i, const char *what, const char *tool, const char *file, const char *why)
{
	struct buf *out = &i->written, line = {0};

	if (i->ctl->json) {
		buf_add_str(out, out->len ? ",{" : "{");
		buf_json_member_str(out, "tool", tool);
		buf_json_member_str(out, "what", what);
		if (file)
			buf_json_member_str(out, "file", file);
		if (why)
			buf_json_member_str(out, "why", why);
		buf_add_char(out, '}');
		return;
	}
	buf_printf(&line, "%s ", what);
	show_text(&line, file ? file : tool, strlen(file ? file : tool));
	if (why) {
		buf_add_str(&line, ": ");
		show_text(&line, why, strlen(why));
	}
	buf_add_char(&line, '\n');
	if (i->dir < 0) /* standard output has the policies */
		fwrite(line.data, 1, line.len, stderr);
	else
		buf_add(out, line.data, line.len);
	buf_free(&line);
}

static void
put_file(struct import *i, const char *tool, struct buf *text)
{
	char *name = skeleton_file(tool), *path = xasprintf("%s/%s", i->dir_name, name);
	int err;

	buf_add_char(text, '\n');
	err = write_file(i, name, text);
	if (!err) {
		i->n_written++;
		tell_one(i, "wrote", tool, path, NULL);
	} else if (err == EEXIST) {
		i->n_kept++;
		tell_one(i, "kept", tool, path, "it is there already");
	} else {
		break_off(i, CTL_CONFIG, xasprintf("%s: %s", path, strerror(err)));
	}
	free(path);
	free(name);
}

static void
import_tool(struct import *i, const struct json_doc *doc, uint32_t tool)
{
	struct buf text = {0};
	char *name = NULL, *why = NULL;

	if (++i->n > TOOLS_MAX) {
		break_off(i, CTL_INPUT, xasprintf("more than %d tools", TOOLS_MAX));
		return;
	}
	if (!skeleton_write(&text, doc, tool, i->class, i->dir < 0 ? "  " : "", &name, &why)) {
		i->n_refused++;
		tell_one(i, "refused", name ? name : "?", NULL, why);
	} else if (i->dir < 0) {
		buf_add_str(&i->out, i->n_written++ ? ",\n  " : "[\n  ");
		buf_add(&i->out, text.data, text.len);
	} else {
		put_file(i, name, &text);
	}
	buf_free(&text);
	free(name);
	free(why);
}

/* A JSON-RPC answer, its result, a page, an array of any of these, or a tool. */
static void
import_node(struct import *i, const struct json_doc *doc, uint32_t node, unsigned depth)
{
	uint32_t inner, cursor;

	if (i->broken || depth > DEPTH_MAX)
		return;
	if (doc->nodes[node].type == JSON_ARRAY) {
		inner = doc->nodes[node].n_children ? node + 1 : 0;
		for (; inner; inner = doc->nodes[inner].next)
			import_node(i, doc, inner, depth + 1);
	} else if ((inner = json_member(doc, node, "tools")) &&
	    doc->nodes[inner].type == JSON_ARRAY) {
		import_node(i, doc, inner, depth + 1);
		cursor = json_member(doc, node, "nextCursor");
		i->more = cursor && doc->nodes[cursor].type == JSON_STRING;
	} else if ((inner = json_member(doc, node, "result"))) {
		import_node(i, doc, inner, depth + 1);
	} else if (json_member(doc, node, "error") && json_member(doc, node, "jsonrpc")) {
		break_off(i, CTL_INPUT, xstrdup("the server answered with an error"));
	} else if (json_member(doc, node, "name") && json_member(doc, node, "inputSchema")) {
		import_tool(i, doc, node);
	}
}

/* All of it is one document, or each line is (what a stdio server writes). */
static void
import_text(struct import *i, const char *file, const char *text, size_t len)
{
	struct json_doc doc = {0};
	struct json_error error;
	const char *line, *end;
	unsigned n = 0;

	if (json_scan(&doc, text, len, NULL, &error) == 0) {
		import_node(i, &doc, 0, 0);
		json_free(&doc);
		return;
	}
	for (line = text; line < text + len && !i->broken; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + len - line));
		if (!end)
			end = text + len;
		n++;
		if (strspn(line, " \t\r") >= (size_t)(end - line))
			continue;
		if (json_scan(&doc, line, (size_t)(end - line), NULL, &error) == 0)
			import_node(i, &doc, 0, 0);
		else
			break_off(i, CTL_INPUT,
			    xasprintf(
				"%s: line %u is not strict JSON, nor is all of it one document",
				file, n));
	}
	json_free(&doc);
}

/* The array for whoever reads it: on a terminal no name in it moves the cursor; within an object
 * that is one line it has none of its own line breaks, which only stand between tokens. */
static void
add_array(const struct import *i, struct buf *out)
{
	bool escaped = isatty(STDOUT_FILENO);
	const char *line = i->out.data, *end = line + i->out.len, *next;

	for (; line < end; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end;
		if (i->ctl->json)
			while (*line == ' ')
				line++;
		if (escaped || i->ctl->json)
			show_json(out, line, (size_t)(next - line) - (next[-1] == '\n'));
		else
			buf_add(out, line, (size_t)(next - line) - (next[-1] == '\n'));
		if (!i->ctl->json)
			buf_add_char(out, '\n');
	}
}

static void
tell_json(struct import *i)
{
	struct buf raw = {0};

	buf_add_char(&raw, '{');
	if (i->dir < 0) {
		buf_add_str(&raw, "\"policies\":");
		add_array(i, &raw);
		buf_add_char(&raw, ',');
	}
	buf_add_str(&raw, "\"tools\":[");
	buf_add(&raw, i->written.data, i->written.len);
	buf_printf(&raw, "],\"more\":%s}", i->more ? "true" : "false");
	show_schema("tools-import", raw.data, raw.len);
	buf_free(&raw);
}

static void
tell(struct import *i)
{
	struct buf out = {0};

	buf_add_str(&i->out, i->n_written && i->dir < 0 ? "\n]" : "[]");
	if (i->ctl->json) {
		tell_json(i);
		return;
	}
	if (i->dir < 0) {
		add_array(i, &out);
	} else {
		buf_add(&out, i->written.data, i->written.len);
		buf_printf(&out,
		    "%zu written, %zu kept, %zu refused; what is to be decided: effectctl tools "
		    "lint ",
		    i->n_written, i->n_kept, i->n_refused);
		show_shell(&out, i->dir_name);
		buf_add_char(&out, '\n');
	}
	show_out(&out);
	buf_free(&out);
	if (i->more)
		fputs("effectctl: tools import: the last page has a nextCursor: there are more "
		      "tools on the next one\n",
		    stderr);
}

static int
import(struct import *i, const char *file)
{
	size_t len;
	char *why = NULL, *text = read_all(file, &len, &why);

	if (!text)
		break_off(i, CTL_INPUT, why);
	else
		import_text(i, file, text, len);
	free(text);
	if (!i->broken && i->n == 0)
		break_off(i, CTL_INPUT,
		    xasprintf("%s: no tool is in it: it takes the answer of tools/list", file));
	if (i->broken)
		return show_failure(i->ctl, i->code, i->code == CTL_INPUT ? "bad_input" : "config",
		    "tools import: %s", i->broken);
	tell(i);
	return i->n_refused ? CTL_FINDINGS : CTL_OK;
}

static bool
is_class(const char *word)
{
	for (size_t i = 0; skeleton_classes[i]; i++)
		if (!strcmp(skeleton_classes[i], word))
			return true;
	return false;
}

/* The folder, made where it is not there; its parent is the user's to make. */
static int
open_dir(const char *dir)
{
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -1;
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int
tools_import(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct import i = {.dir = -1};
	int code;

	flag_add(&set, "class", 0, "CLASS",
	    "the class of all of them, decided (default: by the server's hints, to be decided)");
	flag_add(&set, "out", 0, "DIR",
	    "a file for each tool there (default: an array on standard output)");
	if ((code = usage_read(ctl, &set, "[FILE|-]", 0, 1)) != USAGE_GO_ON)
		return code;
	i.ctl = ctl;
	i.class = usage_value(&set, "class");
	i.dir_name = usage_value(&set, "out");
	if (i.class && !is_class(i.class))
		return show_failure(ctl, CTL_USAGE, "usage",
		    "tools import: --class is read, overwrite, natural, accumulate or "
		    "irreversible, "
		    "not \"%s\"",
		    i.class);
	if (i.dir_name && (i.dir = open_dir(i.dir_name)) < 0)
		return show_failure(
		    ctl, CTL_CONFIG, "config", "tools import: %s: %s", i.dir_name, strerror(errno));
	code = import(&i, set.n_args ? set.args[0] : "-");
	if (i.dir >= 0)
		close(i.dir);
	free(i.broken);
	buf_free(&i.out);
	buf_free(&i.written);
	return code;
}
