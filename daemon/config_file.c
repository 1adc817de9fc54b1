/*
 * The config file: libconfuse reads the grammar, this file closes its gaps. Before it: regular
 * file, size, no NUL, and one walk over the text (lexical()) for what libconfuse lets pass:
 * ${HOME}, numeric escapes, keys set twice, what is not closed at the end. After it: a sentinel
 * key, which only a whole parse sees. Rules of single values are config_value.c's; who the users
 * and groups are is access.c's. The parse owns its cfg_t, the result goes to struct config.
 */
#include "config_file.h"

#include "alloc.h"
#include "credential.h"
#include "config_value.h"
#include "file.h"
#include "limits.h"
#include "text.h"

#include <assert.h>
#include <confuse.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX 1048576
#define SENTINEL "effectd_end_of_file"
#define ARGV_MAX 64
#define WEBHOOK_SECRETS_MAX 2 /* the new one and the old one, during a rotation */
#define SEEN_MAX 64 /* keys of one section; more than there are */

/* The parse in hand. libconfuse's callbacks carry no argument of ours, and the daemon has one
 * thread. */
static struct parse {
	const char *path;
	struct config *config;
	char *error; /* the first one */
} * parse;

static void fail(int line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What a file calls its keys may be anything, and the message is one line. */
static void
fail(int line, const char *fmt, ...)
{
	va_list ap;
	char *text;

	if (parse->error != NULL)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	text_blank_control(text, strlen(text));
	parse->error = xasprintf("%s:%d: %s", parse->path, line, text);
	free(text);
}

/* What the walk over the text remembers. */
struct walk {
	char *p;
	int line;
	char open[2]; /* the nesting: 's' a section, 'l' a list */
	int open_line[2];
	size_t depth;
	const char *words[2]; /* the two tokens before this one (NULL: no word), the newest last */
	size_t word_lens[2];
	bool after_equals;
	const char *seen[2][SEEN_MAX]; /* keys set at top level and in the section in hand */
	size_t seen_lens[2][SEEN_MAX];
	size_t n_seen[2];
};

static void
push_word(struct walk *w, const char *word, size_t len)
{
	w->words[0] = w->words[1];
	w->word_lens[0] = w->word_lens[1];
	w->words[1] = word;
	w->word_lens[1] = len;
	w->after_equals = false;
}

static bool
is_word(const struct walk *w, size_t i, const char *word)
{
	return w->words[i] != NULL && w->word_lens[i] == strlen(word) &&
	    memcmp(w->words[i], word, strlen(word)) == 0;
}

/* libconfuse lets the last one win. */
static void
note_key(struct walk *w)
{
	size_t i, level = w->depth == 0 ? 0 : 1;

	if (w->words[1] == NULL)
		return;
	for (i = 0; i < w->n_seen[level]; i++) {
		if (w->seen_lens[level][i] == w->word_lens[1] &&
		    memcmp(w->seen[level][i], w->words[1], w->word_lens[1]) == 0)
			fail(w->line, "'%.*s' is set twice", (int)w->word_lens[1], w->words[1]);
	}
	if (i == SEEN_MAX)
		return; /* more keys than exist: libconfuse will name an unknown one */
	w->seen[level][i] = w->words[1];
	w->seen_lens[level][i] = w->word_lens[1];
	w->n_seen[level]++;
}

static void
open_brace(struct walk *w)
{
	bool list = w->after_equals;

	if (w->depth == 2)
		return; /* libconfuse names the fault */
	if (!list) {
		if (is_word(w, 1, "notify") && !is_word(w, 0, "namespace"))
			note_key(w);
		w->n_seen[1] = 0;
	}
	w->open[w->depth] = list ? 'l' : 's';
	w->open_line[w->depth++] = w->line;
	push_word(w, NULL, 0);
}

static void
skip_string(struct walk *w)
{
	const char *start = w->p;
	char quote = *w->p++;

	while (*w->p != quote) {
		if (*w->p == '\0' || *w->p == '\n') {
			fail(w->line, "a string is not closed on its line");
			return;
		}
		if (quote == '"' && w->p[0] == '$' && w->p[1] == '{')
			fail(w->line,
			    "'${' would take text from the environment, write '\\${' for the "
			    "characters");
		if (w->p[0] == '\\') {
			w->p++;
			if (quote == '"' && (*w->p == 'x' || (*w->p >= '0' && *w->p <= '9')))
				fail(w->line, "numeric escapes are not taken in strings");
			if (*w->p == '\0' || *w->p == '\n')
				continue;
		}
		w->p++;
	}
	w->p++;
	push_word(w, start, (size_t)(w->p - start));
}

/*
 * False: there is no comment here. One is taken out of the text, as libconfuse would count the end
 * of its line twice.
 */
static bool
skip_comment(struct walk *w)
{
	char *start = w->p;
	int line = w->line;

	if (w->p[0] == '#' || (w->p[0] == '/' && w->p[1] == '/')) {
		w->p += strcspn(w->p, "\n");
	} else if (w->p[0] == '/' && w->p[1] == '*') {
		for (w->p += 2; w->p[0] != '*' || w->p[1] != '/'; w->p++) {
			if (*w->p == '\0') {
				fail(line, "a comment is not closed");
				return true;
			}
			w->line += *w->p == '\n';
		}
		w->p += 2;
	} else {
		return false;
	}
	for (; start < w->p; start++) {
		if (*start != '\n')
			*start = ' ';
	}
	return true;
}

static void
skip_word(struct walk *w)
{
	size_t len;

	len = strcspn(w->p, " \t\r\n\"'#(){}=+,");
	if (len == 0) {
		if (*w->p == '+' && w->p[1] != '=') /* which libconfuse leaves out */
			fail(w->line, "'+' may only stand before '='");
		w->p++; /* other punctuation: libconfuse's to judge */
		return;
	}
	if (memmem(w->p, len, "${", 2) != NULL || (w->p[len - 1] == '$' && w->p[len] == '{'))
		fail(w->line,
		    "'${' would take text from the environment, quote the value and write '\\${'");
	if (memmem(w->p, len, "/*", 2) != NULL) /* to libconfuse a comment, to this walk none */
		fail(w->line, "'/*' may only stand where a word begins, quote the value");
	push_word(w, w->p, len);
	w->p += len;
}

static void
/* NOLINTNEXTLINE(readability-non-const-parameter): comments are blanked in it */
lexical(char *text)
{
	struct walk w = {.p = text, .line = 1};

	while (*w.p != '\0' && parse->error == NULL) {
		if (*w.p == '\n') {
			w.line++;
			w.p++;
		} else if (*w.p == ' ' || *w.p == '\t' || *w.p == '\r') {
			w.p++;
		} else if (skip_comment(&w)) {
			continue;
		} else if (*w.p == '"' || *w.p == '\'') {
			skip_string(&w);
		} else if (*w.p == '=') {
			if (w.p == text || w.p[-1] != '+')
				note_key(&w);
			push_word(&w, NULL, 0);
			w.after_equals = true;
			w.p++;
		} else if (*w.p == '{') {
			open_brace(&w);
			w.p++;
		} else if (*w.p == '}') {
			if (w.depth > 0)
				w.depth--;
			push_word(&w, NULL, 0);
			w.p++;
		} else {
			skip_word(&w);
		}
	}
	if (w.after_equals)
		fail(w.line, "a value is missing at the end");
	if (w.depth > 0)
		fail(w.open_line[w.depth - 1], "a %s is not closed",
		    w.open[w.depth - 1] == 'l' ? "list" : "section");
}

/* The keys that may stand where `section` is ("root", "notify", "namespace"). */
static size_t
keys_of(const char *section, const char *names[SEEN_MAX])
{
	size_t i, n = 0;

	if (strcmp(section, "root") == 0) {
		for (i = 0; i < config_value_n_options; i++)
			names[n++] = config_value_options[i].key;
		names[n++] = "notify";
		names[n++] = "namespace";
	}
#define CONFIG_KEY(key, kind, min, max, def, when, doc)
#define CONFIG_LIST(key, in, doc)      \
	if (strcmp(section, #in) == 0) \
		names[n++] = #key;
#include "config.def"
#undef CONFIG_LIST
#undef CONFIG_KEY
	assert(n <= SEEN_MAX);
	return n;
}

static void
error_cb(cfg_t *cfg, const char *fmt, va_list ap)
{
	static const char unknown[] = "no such option '";
	const char *names[SEEN_MAX], *nearest, *where;
	char *text;
	size_t n;

	if (parse->error != NULL)
		return;
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	if (strncmp(text, unknown, sizeof unknown - 1) != 0) {
		fail(cfg->line, "%s", text);
		free(text);
		return;
	}
	text[strlen(text) - 1] = '\0'; /* the closing quote */
	where = cfg_name(cfg);
	n = keys_of(where, names);
	nearest = text_nearest(text + sizeof unknown - 1, names, n);
	fail(cfg->line, "unknown key '%s'%s%s%s%s%s", text + sizeof unknown - 1,
	    strcmp(where, "root") == 0 ? "" : " in ", strcmp(where, "root") == 0 ? "" : where,
	    nearest == NULL ? "" : ", the nearest is '", nearest == NULL ? "" : nearest,
	    nearest == NULL ? "" : "'");
	free(text);
}

static int
value_cb(cfg_t *cfg, cfg_opt_t *opt)
{
	char *why;

	if (config_value_set(
		parse->config, config_value_find(opt->name), cfg_opt_getnstr(opt, 0), &why))
		return 0;
	fail(cfg->line, "'%s' %s", opt->name, why);
	free(why);
	return -1;
}

/* As config_value.c has it for single values: what --print-config shows could not be read again. */
static bool
has_control(const char *text)
{
	return text_has_control(text, strlen(text));
}

static int
argv_cb(cfg_t *cfg, cfg_opt_t *opt)
{
	unsigned n = cfg_opt_size(opt);

	if (n > 0 && has_control(cfg_opt_getnstr(opt, n - 1)))
		fail(cfg->line, "'%s' must not hold control characters", opt->name);
	else if (n > 0 && cfg_opt_getnstr(opt, 0)[0] != '/')
		fail(cfg->line, "'%s' must begin with an absolute path", opt->name);
	else if (n > ARGV_MAX)
		fail(cfg->line, "'%s' has more than %d words", opt->name, ARGV_MAX);
	return parse->error == NULL ? 0 : -1;
}

static int
webhook_cb(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *url = cfg_opt_getnstr(opt, 0), *host = text_http_host(url);

	if (host == NULL || *host == '\0' || strpbrk(url, " @") != NULL || has_control(url))
		fail(cfg->line, "'%s' must be an http:// or https:// URL without a user",
		    opt->name);
	return parse->error == NULL ? 0 : -1;
}

static int
secrets_cb(cfg_t *cfg, cfg_opt_t *opt)
{
	unsigned n = cfg_opt_size(opt);
	const char *last = n > 0 ? cfg_opt_getnstr(opt, n - 1) : "x";

	if (n > WEBHOOK_SECRETS_MAX)
		fail(cfg->line, "'%s' has more than %d files", opt->name, WEBHOOK_SECRETS_MAX);
	else if (!credential_is_place(last))
		fail(cfg->line,
		    "'%s' must hold absolute paths, or names of files in $CREDENTIALS_DIRECTORY",
		    opt->name);
	return parse->error == NULL ? 0 : -1;
}

static int
ca_file_cb(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *path = cfg_opt_getnstr(opt, 0);

	if (path[0] != '/' || has_control(path))
		fail(cfg->line, "'%s' must be an absolute path", opt->name);
	return parse->error == NULL ? 0 : -1;
}

static int
rights_cb(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *who;

	if (cfg_opt_size(opt) == 0)
		return 0;
	who = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
	if (has_control(who)) {
		fail(cfg->line, "'%s' must not hold control characters", opt->name);
		return -1;
	}
	if ((strncmp(who, "user:", 5) == 0 && who[5] != '\0') ||
	    (strncmp(who, "group:", 6) == 0 && who[6] != '\0'))
		return 0;
	fail(cfg->line, "'%s' in '%s' must be user:NAME, user:UID, group:NAME or group:GID", who,
	    opt->name);
	return -1;
}

static int
namespace_cb(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *title;
	size_t len;

	title = cfg_title(cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1));
	len = strspn(title, "abcdefghijklmnopqrstuvwxyz0123456789_.-");
	if (len > 0 && len <= NAMESPACE_BYTES_MAX && title[len] == '\0')
		return 0;
	fail(
	    cfg->line, "'%s' is no name of a namespace: 1 to 63 of a-z, 0-9, '_', '.', '-'", title);
	return -1;
}

/* A NULL-terminated copy. */
static char **
copy_list(cfg_t *cfg, const char *key)
{
	unsigned i, n = cfg_size(cfg, key);
	char **list;

	list = xcalloc(n + 1, sizeof *list);
	for (i = 0; i < n; i++)
		list[i] = xstrdup(cfg_getnstr(cfg, key, i));
	return list;
}

static char *
copy_word(cfg_t *cfg, const char *key)
{
	const char *word = cfg_size(cfg, key) > 0 ? cfg_getstr(cfg, key) : NULL;

	return word == NULL ? NULL : xstrdup(word);
}

/* What looks at more than one of its keys. */
static void
take_notify(cfg_t *cfg, struct config *config)
{
	bool webhook = cfg_size(cfg, "webhook") > 0, secrets = cfg_size(cfg, "webhook_secrets") > 0;

	if (cfg_size(cfg, "exec") > 0 && webhook)
		fail(cfg->line, "'notify' may have 'exec' or 'webhook', not both");
	else if (webhook != secrets)
		fail(cfg->line, "'webhook' and 'webhook_secrets' need each other");
	else if (!webhook && cfg_size(cfg, "webhook_ca_file") > 0)
		fail(cfg->line, "'webhook_ca_file' needs a 'webhook'");
	if (cfg_size(cfg, "exec") > 0)
		config->notify_exec = copy_list(cfg, "exec");
	config->notify_webhook = copy_word(cfg, "webhook");
	config->notify_webhook_ca_file = copy_word(cfg, "webhook_ca_file");
	if (secrets)
		config->notify_webhook_secrets = copy_list(cfg, "webhook_secrets");
}

static void
take_sections(cfg_t *cfg, struct config *config)
{
	struct config_namespace *ns;
	unsigned i, n;
	cfg_t *section;

	section = cfg_size(cfg, "notify") > 0 ? cfg_getsec(cfg, "notify") : NULL;
	if (section != NULL)
		take_notify(section, config);
	n = cfg_size(cfg, "namespace");
	config->namespaces = n == 0 ? NULL : xcalloc(n, sizeof *config->namespaces);
	config->n_namespaces = n;
	for (i = 0; i < n; i++) {
		section = cfg_getnsec(cfg, "namespace", i);
		ns = &config->namespaces[i];
		ns->name = xstrdup(cfg_title(section));
		ns->wrappers = copy_list(section, "wrappers");
		ns->operators = copy_list(section, "operators");
		ns->observers = copy_list(section, "observers");
	}
}

static cfg_t *
grammar(void)
{
	static cfg_opt_t notify[] = {CFG_STR_LIST("exec", NULL, CFGF_NODEFAULT),
	    CFG_STR("webhook", NULL, CFGF_NODEFAULT),
	    CFG_STR_LIST("webhook_secrets", NULL, CFGF_NODEFAULT),
	    CFG_STR("webhook_ca_file", NULL, CFGF_NODEFAULT), CFG_END()};
	static cfg_opt_t namespace[] = {CFG_STR_LIST("wrappers", NULL, CFGF_NODEFAULT),
	    CFG_STR_LIST("operators", NULL, CFGF_NODEFAULT),
	    CFG_STR_LIST("observers", NULL, CFGF_NODEFAULT), CFG_END()};
	static cfg_opt_t top[] = {
#define CONFIG_KEY(key, kind, min, max, def, when, doc) CFG_STR(#key, NULL, CFGF_NODEFAULT),
#include "config.def"
#undef CONFIG_KEY
	    CFG_SEC("notify", notify, CFGF_NODEFAULT),
	    CFG_SEC("namespace", namespace, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
	    CFG_STR(SENTINEL, NULL, CFGF_NODEFAULT), CFG_END()};
	cfg_t *cfg;
	size_t i;

	cfg = cfg_init(top, CFGF_NONE);
	if (cfg == NULL)
		abort(); /* out of memory, or our table is wrong */
	cfg_set_error_function(cfg, error_cb);
	for (i = 0; i < config_value_n_options; i++)
		cfg_set_validate_func(cfg, config_value_options[i].key, value_cb);
	cfg_set_validate_func(cfg, "namespace", namespace_cb);
	cfg_set_validate_func(cfg, "notify|exec", argv_cb);
	cfg_set_validate_func(cfg, "notify|webhook", webhook_cb);
	cfg_set_validate_func(cfg, "notify|webhook_secrets", secrets_cb);
	cfg_set_validate_func(cfg, "notify|webhook_ca_file", ca_file_cb);
	cfg_set_validate_func(cfg, "namespace|wrappers", rights_cb);
	cfg_set_validate_func(cfg, "namespace|operators", rights_cb);
	cfg_set_validate_func(cfg, "namespace|observers", rights_cb);
	return cfg;
}

static void
parse_text(char *text)
{
	char *whole;
	cfg_t *cfg;

	lexical(text);
	if (parse->error == NULL && strstr(text, SENTINEL) != NULL)
		fail(1, "the word '" SENTINEL "' is reserved");
	if (parse->error != NULL)
		return;
	whole = xasprintf("%s\n" SENTINEL " = \"x\"\n", text);
	cfg = grammar();
	if (cfg_parse_buf(cfg, whole) != CFG_SUCCESS)
		fail(cfg->line, "cannot be read");
	else if (cfg_getstr(cfg, SENTINEL) == NULL)
		fail(cfg->line, "something before the end of the file is not closed");
	else
		take_sections(cfg, parse->config);
	cfg_free(cfg);
	free(whole);
}

/*
 * The whole text, or NULL; then *ret_error is set, unless the file may be missing and is. Our own
 * reading: a folder as path would make libconfuse's lexer exit.
 */
static char *
read_text(const char *path, bool must_exist, char **ret_error)
{
	char *text, *why;
	bool missing;
	size_t len;

	text = file_read(path, FILE_BYTES_MAX, &len, &missing, &why);
	if (text == NULL) {
		if (!missing || must_exist)
			*ret_error = xasprintf("%s: %s", path, why);
		free(why);
		return NULL;
	}
	if (strlen(text) == len)
		return text;
	*ret_error = xasprintf("%s: holds a NUL byte", path);
	free(text);
	return NULL;
}

bool
config_file_read(
    struct config *config, const char *path, bool must_exist, bool *ret_read, char **ret_error)
{
	struct parse p = {.path = path, .config = config};
	char *text, *error = NULL;

	assert(parse == NULL);
	text = read_text(path, must_exist, &error);
	if (text != NULL) {
		parse = &p;
		parse_text(text);
		parse = NULL;
		error = p.error;
	}
	if (error != NULL) {
		free(text);
		*ret_error = error;
		return false;
	}
	*ret_read = text != NULL;
	free(text);
	return true;
}
