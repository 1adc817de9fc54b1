/*
 * One config value: text -> field -> text, by the table of config.def. Every value comes as text,
 * also numbers and booleans, because libconfuse reads 010 as 8 and takes -5; the rules stand here
 * alone, for the file and the flags. The strings belong to struct config. Files and sections do not
 * belong here.
 */
#include "config_value.h"

#include "alloc.h"
#include "buf.h"
#include "conninfo.h"
#include "limits.h"
#include "loopback.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#define MODE_DIGITS 4
#define NAME_BYTES_MAX 255

/* The field of a duration is called after its unit. */
#define FIELD_PATH(key) key
#define FIELD_MODE(key) key
#define FIELD_NAME(key) key
#define FIELD_DATABASE(key) key
#define FIELD_CONNINFO(key) key
#define FIELD_INT(key) key
#define FIELD_SIZE(key) key
#define FIELD_MS(key) key##_ms
#define FIELD_BOOL(key) key
#define FIELD_MIGRATE(key) key
#define FIELD_UNKNOWN(key) key
#define FIELD_LEVEL(key) key
#define FIELD_FORMAT(key) key
#define FIELD_LISTEN(key) key
#define WHEN_RELOAD false
#define WHEN_RESTART true

const struct config_option config_value_options[] = {
#define CONFIG_KEY(key, kind, min, max, def, when, doc)                                       \
	{#key, CONFIG_KIND_##kind, offsetof(struct config, FIELD_##kind(key)), min, max, def, \
	    WHEN_##when},
#include "config.def"
#undef CONFIG_KEY
};
const size_t config_value_n_options = sizeof config_value_options / sizeof config_value_options[0];

static const char *const level_words[] = {"debug", "info", "warning", "error", NULL};
static const char *const format_words[] = {"text", "json", NULL};
static const char *const unknown_words[] = {
    "guard", "refuse", NULL}; /* in the order of enum config_unknown_tools */

const struct config_option *
config_value_find(const char *key)
{
	size_t i;

	for (i = 0; i < config_value_n_options; i++)
		if (strcmp(config_value_options[i].key, key) == 0)
			return &config_value_options[i];
	assert(!"a key of config.def");
	return NULL;
}

static void *
field(const struct config *config, const struct config_option *option)
{
	return (char *)(uintptr_t)config + option->offset;
}

static const char *
text_of(const struct config *config, const struct config_option *option)
{
	return *(char **)field(config, option);
}

static bool
is_text(enum config_kind kind)
{
	switch (kind) {
	case CONFIG_KIND_PATH:
	case CONFIG_KIND_NAME:
	case CONFIG_KIND_DATABASE:
	case CONFIG_KIND_CONNINFO:
	case CONFIG_KIND_LEVEL:
	case CONFIG_KIND_FORMAT:
	case CONFIG_KIND_LISTEN:
		return true;
	default:
		return false;
	}
}

static void
set_text(struct config *config, const struct config_option *option, const char *text)
{
	char **p = field(config, option);

	free(*p);
	*p = xstrdup(text);
}

static int
index_of_word(const char *text, const char *const *words)
{
	int i;

	for (i = 0; words[i] != NULL; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	return -1;
}

static bool
read_bool(const char *text, bool *ret)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on", NULL};
	int i;

	i = index_of_word(text, words);
	if (i < 0)
		return false;
	*ret = i % 2 == 1;
	return true;
}

static bool
read_mode(const char *text, unsigned *ret)
{
	unsigned mode = 0;
	size_t i;

	for (i = 0; i < MODE_DIGITS; i++) {
		if (text[i] < '0' || text[i] > '7')
			return false;
		mode = mode * 8 + (unsigned)(text[i] - '0');
	}
	/* The first digit is 0: set-id bits mean nothing on a socket. */
	if (text[MODE_DIGITS] != '\0' || text[0] != '0' || (mode & 0600) != 0600)
		return false;
	*ret = mode;
	return true;
}

/* Asked of libpq, whose grammar it is. Its message is not used: it may quote part of a password. */
static bool
is_conninfo(const char *text)
{
	PQconninfoOption *parts;

	parts = PQconninfoParse(text, NULL);
	PQconninfoFree(parts);
	return parts != NULL;
}

static const char *
check_text(const struct config_option *option, const char *text)
{
	switch (option->kind) {
	case CONFIG_KIND_PATH:
		if (text[0] != '/')
			return "must be an absolute path";
		if (strcmp(option->key, "socket") == 0 && strlen(text) > SOCKET_PATH_BYTES_MAX)
			return "must be a path of at most 107 bytes, the limit of a Unix socket";
		return NULL;
	case CONFIG_KIND_NAME:
		return strlen(text) > NAME_BYTES_MAX ? "must be at most 255 bytes" : NULL;
	case CONFIG_KIND_DATABASE:
		if (strcmp(text, "embedded") == 0)
			return NULL;
		return text[0] != '\0' && is_conninfo(text)
		    ? NULL
		    : "must be \"embedded\" or a libpq connection string";
	case CONFIG_KIND_CONNINFO:
		return is_conninfo(text) ? NULL : "must be a libpq connection string or empty";
	case CONFIG_KIND_LEVEL:
		return index_of_word(text, level_words) >= 0
		    ? NULL
		    : "must be debug, info, warning or error";
	case CONFIG_KIND_FORMAT:
		return index_of_word(text, format_words) >= 0 ? NULL : "must be text or json";
	case CONFIG_KIND_LISTEN:
		return text[0] == '\0' ||
			loopback_parse(text, &(struct sockaddr_storage){0}, &(socklen_t){0})
		    ? NULL
		    : "must be HOST:PORT of the loopback (\"127.0.0.1:9464\", \"[::1]:9464\") or "
		      "empty";
	default:
		assert(!"a kind of text");
		return NULL;
	}
}

static bool
set_text_checked(
    struct config *config, const struct config_option *option, const char *text, char **ret_why)
{
	const char *why;

	why = check_text(option, text);
	if (why != NULL) {
		*ret_why = xstrdup(why);
		return false;
	}
	set_text(config, option, text);
	return true;
}

static bool
set_number(
    struct config *config, const struct config_option *option, const char *text, char **ret_why)
{
	char low[TEXT_DURATION_BYTES], high[TEXT_DURATION_BYTES];
	int64_t n;

	if (option->kind == CONFIG_KIND_MS) {
		if (!text_duration_ms(text, &n) || n < option->min || n > option->max) {
			text_duration(option->min, low);
			text_duration(option->max, high);
			*ret_why = xasprintf(
			    "must be a duration with its unit (ms, s, m, h, d) from %s to %s", low,
			    high);
			return false;
		}
		*(int64_t *)field(config, option) = n;
		return true;
	}
	if (!text_int(text, option->min, option->max, &n)) {
		*ret_why = xasprintf("must be a whole number from %" PRId64 " to %" PRId64
				     ", in decimal digits without a leading zero",
		    option->min, option->max);
		return false;
	}
	if (option->kind == CONFIG_KIND_INT)
		*(int *)field(config, option) = (int)n;
	else
		*(int64_t *)field(config, option) = n;
	return true;
}

static bool
set_word(
    struct config *config, const struct config_option *option, const char *text, char **ret_why)
{
	bool yes;
	int i;

	switch (option->kind) {
	case CONFIG_KIND_MODE:
		if (read_mode(text, field(config, option)))
			return true;
		*ret_why = xstrdup("must be four octal digits such as \"0660\", with read and "
				   "write for the owner");
		return false;
	case CONFIG_KIND_UNKNOWN:
		i = index_of_word(text, unknown_words);
		if (i < 0) {
			*ret_why = xstrdup("must be guard or refuse");
			return false;
		}
		*(enum config_unknown_tools *)field(config, option) = (enum config_unknown_tools)i;
		return true;
	default:
		if (!read_bool(text, &yes)) {
			*ret_why = xstrdup("must be true or false");
			return false;
		}
		if (option->kind == CONFIG_KIND_BOOL)
			*(bool *)field(config, option) = yes;
		else
			*(enum config_auto_migrate *)field(config, option) =
			    yes ? CONFIG_MIGRATE_ON : CONFIG_MIGRATE_OFF;
		return true;
	}
}

bool
config_value_set(
    struct config *config, const struct config_option *option, const char *text, char **ret_why)
{
	if (text_has_control(text, strlen(text))) {
		*ret_why = xstrdup("must not hold control characters");
		return false;
	}
	if (is_text(option->kind))
		return set_text_checked(config, option, text, ret_why);
	if (option->kind == CONFIG_KIND_INT || option->kind == CONFIG_KIND_SIZE ||
	    option->kind == CONFIG_KIND_MS)
		return set_number(config, option, text, ret_why);
	return set_word(config, option, text, ret_why);
}

void
config_value_print_string(const char *text, FILE *out)
{
	putc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\' ||
		    *text == '$') /* "${" would ask for the environment */
			putc('\\', out);
		putc(*text, out);
	}
	putc('"', out);
}

/*
 * Prints a connection string as libpq's keywords and values, whatever form it came in, so that no
 * password hides in a URI.
 */
static void
print_conninfo(const char *conninfo, FILE *out)
{
	PQconninfoOption *parts, *o;
	struct buf masked = {0};

	parts = PQconninfoParse(conninfo, NULL);
	assert(parts != NULL);
	for (o = parts; o->keyword != NULL; o++)
		if (o->val != NULL)
			conninfo_add(&masked, o->keyword,
			    strstr(o->keyword, "password") != NULL ? "********" : o->val);
	PQconninfoFree(parts);
	/* a bare "postgres://" says nothing; as the database it may not become empty */
	config_value_print_string(masked.len == 0 ? conninfo : buf_str(&masked), out);
	buf_free(&masked);
}

void
config_value_print(const struct config *config, const struct config_option *option, FILE *out)
{
	const void *p = field(config, option);
	char duration[TEXT_DURATION_BYTES];

	if (option->kind == CONFIG_KIND_MIGRATE && config->auto_migrate == CONFIG_MIGRATE_UNSET) {
		fprintf(out, "# %s is unset: true for the embedded database, false otherwise\n",
		    option->key);
		return;
	}
	fprintf(out, "%s = ", option->key);
	switch (option->kind) {
	case CONFIG_KIND_INT:
		fprintf(out, "%d", *(const int *)p);
		break;
	case CONFIG_KIND_SIZE:
		fprintf(out, "%" PRId64, *(const int64_t *)p);
		break;
	case CONFIG_KIND_MS:
		text_duration(*(const int64_t *)p, duration);
		fprintf(out, "\"%s\"", duration);
		break;
	case CONFIG_KIND_MODE:
		fprintf(out, "\"%04o\"", *(const unsigned *)p);
		break;
	case CONFIG_KIND_BOOL:
		fputs(*(const bool *)p ? "true" : "false", out);
		break;
	case CONFIG_KIND_MIGRATE:
		fputs(config->auto_migrate == CONFIG_MIGRATE_ON ? "true" : "false", out);
		break;
	case CONFIG_KIND_UNKNOWN:
		fprintf(out, "\"%s\"", unknown_words[*(const enum config_unknown_tools *)p]);
		break;
	case CONFIG_KIND_DATABASE:
	case CONFIG_KIND_CONNINFO:
		if (strcmp(text_of(config, option), "embedded") != 0) {
			print_conninfo(text_of(config, option), out);
			break;
		}
		/* fall through */
	default:
		config_value_print_string(text_of(config, option), out);
	}
	putc('\n', out);
}

bool
config_value_equal(
    const struct config *a, const struct config *b, const struct config_option *option)
{
	const void *pa = field(a, option), *pb = field(b, option);

	switch (option->kind) {
	case CONFIG_KIND_INT:
		return *(const int *)pa == *(const int *)pb;
	case CONFIG_KIND_SIZE:
	case CONFIG_KIND_MS:
		return *(const int64_t *)pa == *(const int64_t *)pb;
	case CONFIG_KIND_BOOL:
		return *(const bool *)pa == *(const bool *)pb;
	case CONFIG_KIND_MODE:
		return *(const unsigned *)pa == *(const unsigned *)pb;
	case CONFIG_KIND_MIGRATE:
		return a->auto_migrate == b->auto_migrate;
	case CONFIG_KIND_UNKNOWN:
		return a->unknown_tools == b->unknown_tools;
	default:
		return strcmp(text_of(a, option), text_of(b, option)) == 0;
	}
}

void
config_value_free(struct config *config, const struct config_option *option)
{
	if (is_text(option->kind))
		free(*(char **)field(config, option));
}
