/*
 * Sets of policies: the folder read as a whole, policies found by namespace and name, references,
 * versions. Promise: what is borrowed from a set or counted lives on through a reload. One file's
 * text is tool_parse.c's, one policy's struct tool_policy.c's, advice tool_lint.c's, results
 * tool_redact.c's. A set owns one reference to each of its policies.
 */
#include "tool.h"

#include "alloc.h"
#include "file.h"
#include "tool_parse.h"
#include "tool_policy.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX 1048576
#define POLICIES_MAX 10000
#define BUCKETS 1024
#define DEFAULTS_MAX 1024 /* names that anybody can make up, so there is an end to them */

/* Policies by (namespace, name); a policy for every namespace stands under "". Owns one reference
 * to each. */
struct entry {
	struct entry *next;
	struct tool_policy *policy;
};
struct map {
	struct entry *buckets[BUCKETS];
};

struct tool_set {
	struct tool_policy **loaded; /* as the files have them; the references are by_name's */
	char **files;		     /* where each comes from, parallel */
	size_t n_loaded;
	struct map by_name;
	struct map bound; /* sealed ones, made when first asked for */
	struct map defaults;
	struct tool_policy *default_ring[DEFAULTS_MAX]; /* in the order they were made */
	size_t n_defaults;				/* made so far */
};

/* All sealed policies of the process, by version. */
static struct tool_policy *versions[BUCKETS];

static size_t
bucket_of(const char *ns, const char *name)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (; *ns != '\0'; ns++)
		h = (h ^ (unsigned char)*ns) * 1099511628211u;
	h = (h ^ 0) * 1099511628211u;
	for (; *name != '\0'; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211u;
	return (size_t)(h ^ h >> 32) % BUCKETS;
}

static const char *
ns_of(const struct tool_policy *policy)
{
	return policy->ns == NULL ? "" : policy->ns;
}

static struct tool_policy *
map_find(const struct map *map, const char *ns, const char *name)
{
	struct entry *e;

	for (e = map->buckets[bucket_of(ns, name)]; e != NULL; e = e->next)
		if (strcmp(ns_of(e->policy), ns) == 0 && strcmp(e->policy->name, name) == 0)
			return e->policy;
	return NULL;
}

/* Takes the caller's reference. */
static void
map_add(struct map *map, struct tool_policy *policy)
{
	size_t i = bucket_of(ns_of(policy), policy->name);
	struct entry *e;

	e = xmalloc(sizeof *e);
	e->policy = policy;
	e->next = map->buckets[i];
	map->buckets[i] = e;
}

static void
map_remove(struct map *map, struct tool_policy *policy)
{
	struct entry **p, *e;

	p = &map->buckets[bucket_of(ns_of(policy), policy->name)];
	while ((*p)->policy != policy)
		p = &(*p)->next;
	e = *p;
	*p = e->next;
	free(e);
	tool_unref(policy);
}

static void
map_clear(struct map *map)
{
	size_t i;

	for (i = 0; i < BUCKETS; i++)
		while (map->buckets[i] != NULL)
			map_remove(map, map->buckets[i]->policy);
}

static void
seal(struct tool_policy *policy)
{
	struct tool_policy **bucket;

	tool_policy_seal(policy);
	bucket = &versions[(uint64_t)policy->version % BUCKETS];
	policy->version_next = *bucket;
	*bucket = policy;
}

struct tool_policy *
tool_by_version(int64_t version)
{
	struct tool_policy *policy;

	for (policy = versions[(uint64_t)version % BUCKETS]; policy != NULL;
	     policy = policy->version_next)
		if (policy->version == version)
			return policy;
	return NULL;
}

struct tool_policy *
tool_ref(struct tool_policy *policy)
{
	assert(policy->refs > 0);
	policy->refs++;
	return policy;
}

void
tool_unref(struct tool_policy *policy)
{
	struct tool_policy **p;

	if (policy == NULL)
		return;
	assert(policy->refs > 0);
	if (--policy->refs > 0)
		return;
	if (policy->json != NULL) { /* sealed */
		p = &versions[(uint64_t)policy->version % BUCKETS];
		while (*p != policy)
			p = &(*p)->version_next;
		*p = policy->version_next;
	}
	tool_policy_free(policy);
}

struct tool_set *
tool_set_empty(void)
{
	return xcalloc(1, sizeof(struct tool_set));
}

void
tool_set_free(struct tool_set *set)
{
	size_t i;

	if (set == NULL)
		return;
	map_clear(&set->defaults);
	map_clear(&set->bound);
	map_clear(&set->by_name);
	for (i = 0; i < set->n_loaded; i++)
		free(set->files[i]);
	free(set->files);
	free(set->loaded);
	free(set);
}

/* Whom faults are told. */
struct told {
	void (*cb)(void *arg, const struct tool_finding *f);
	void *arg;
};

static void
tell(const struct told *told, const char *file, const struct tool_policy *policy, const char *text)
{
	struct tool_finding f = {.file = file, .pointer = "", .code = "not_loaded", .text = text};
	char *pointer = NULL;

	if (policy != NULL) {
		f.tool = policy->name;
		if (policy->place >= 0)
			f.pointer = pointer = xasprintf("/%d", policy->place);
	}
	(void)tool_finding_level(f.code, &f.level);
	told->cb(told->arg, &f);
	free(pointer);
}

/* Takes `policy` whether it succeeds or not. */
static void
add_policy(
    struct tool_set *set, struct tool_policy *policy, const char *file, const struct told *told)
{
	struct tool_policy *twin;
	char *why = NULL;
	size_t i;

	twin = map_find(&set->by_name, ns_of(policy), policy->name);
	if (twin != NULL) {
		for (i = 0; set->loaded[i] != twin; i++)
			;
		why = xasprintf("has a policy %s%s already, in %s",
		    policy->ns == NULL ? "for every namespace" : "in namespace ", ns_of(policy),
		    set->files[i]);
	} else if (set->n_loaded == POLICIES_MAX) {
		why = xasprintf("more than %d policies", POLICIES_MAX);
	}
	if (why != NULL) {
		tell(told, file, policy, why);
		tool_policy_free(policy);
		free(why);
		return;
	}
	set->loaded = xrealloc(set->loaded, (set->n_loaded + 1) * sizeof *set->loaded);
	set->files = xrealloc(set->files, (set->n_loaded + 1) * sizeof *set->files);
	set->loaded[set->n_loaded] = policy;
	set->files[set->n_loaded++] = xstrdup(file);
	map_add(&set->by_name, policy);
}

static void
load_file(struct tool_set *set, const char *path, bool trust_annotations, const struct told *told)
{
	struct tool_parse_list list = {0};
	char *text, *why;
	bool missing;
	size_t len, i;

	text = file_read(path, FILE_BYTES_MAX, &len, &missing, &why);
	if (text == NULL) {
		tell(told, path, NULL, why);
		free(why);
		return;
	}
	(void)tool_parse(&list, path, text, len, trust_annotations, told->cb, told->arg);
	for (i = 0; i < list.n; i++)
		add_policy(set, list.items[i], path, told);
	free(list.items);
	free(text);
}

static int
is_policy_file(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 5 && strcmp(d->d_name + len - 5, ".json") == 0;
}

/* Not alphasort(), which follows the locale. */
static int
compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

struct tool_set *
tool_set_read(const char *dir, bool trust_annotations, bool *ret_missing,
    void (*cb)(void *arg, const struct tool_finding *f), void *arg)
{
	const struct told told = {cb, arg};
	struct tool_set *set = tool_set_empty();
	struct dirent **names;
	char *path, *why;
	int i, n;

	n = scandir(dir, &names, is_policy_file, compare_names);
	*ret_missing = n < 0 && errno == ENOENT;
	if (*ret_missing)
		return set;
	if (n < 0) {
		why = xasprintf("cannot be read: %s", strerror(errno));
		tell(&told, dir, NULL, why);
		free(why);
		tool_set_free(set);
		return NULL;
	}
	for (i = 0; i < n; i++) {
		path = xasprintf("%s/%s", dir, names[i]->d_name);
		load_file(set, path, trust_annotations, &told);
		free(path);
		free(names[i]);
	}
	free(names);
	return set;
}

struct faults {
	char *first; /* owned */
	size_t n;
};

static void
fault_cb(void *arg, const struct tool_finding *f)
{
	struct faults *faults = arg;

	if (faults->n++ == 0)
		faults->first = xasprintf("%s: %s%s%s%s%s%s", f->file, f->tool ? "'" : "",
		    f->tool ? f->tool : "", f->tool ? "': " : "", f->pointer,
		    f->pointer[0] != '\0' ? ": " : "", f->text);
}

struct tool_set *
tool_set_load(const char *dir, bool trust_annotations, bool *ret_missing, char **ret_error)
{
	struct faults faults = {0};
	struct tool_set *set =
	    tool_set_read(dir, trust_annotations, ret_missing, fault_cb, &faults);

	if (faults.n == 0)
		return set;
	tool_set_free(set);
	*ret_error = faults.first;
	if (faults.n > 1) {
		*ret_error = xasprintf(
		    "%s (and %zu more: effectctl tools lint)", faults.first, faults.n - 1);
		free(faults.first);
	}
	return NULL;
}

struct tool_policy *
tool_find(struct tool_set *set, const char *ns, const char *name)
{
	struct tool_policy *policy, *bound;

	bound = map_find(&set->bound, ns, name);
	if (bound != NULL)
		return bound;
	policy = map_find(&set->by_name, ns, name);
	if (policy == NULL)
		policy = map_find(&set->by_name, "", name);
	if (policy == NULL)
		return NULL;
	bound = tool_policy_bind(policy, ns);
	seal(bound);
	map_add(&set->bound, bound);
	return bound;
}

size_t
tool_set_n(const struct tool_set *set)
{
	return set->n_loaded;
}

struct tool_policy *
tool_set_at(struct tool_set *set, size_t i, const char *ns)
{
	const struct tool_policy *policy = set->loaded[i];

	if (policy->ns == NULL ? map_find(&set->by_name, ns, policy->name) != NULL
			       : strcmp(policy->ns, ns) != 0)
		return NULL;
	return tool_find(set, ns, policy->name);
}

struct tool_policy *
tool_default(struct tool_set *set, const char *ns, const char *name)
{
	struct tool_policy **slot, *policy;

	policy = map_find(&set->defaults, ns, name);
	if (policy != NULL)
		return policy;
	policy = tool_parse_default(ns, name);
	seal(policy);
	slot = &set->default_ring[set->n_defaults++ % DEFAULTS_MAX];
	if (*slot != NULL)
		map_remove(&set->defaults, *slot);
	*slot = policy;
	map_add(&set->defaults, policy);
	return policy;
}

bool
tool_has_probe(const struct tool_policy *policy)
{
	return tool_policy_has_probe(policy);
}

bool
tool_set_has_result_secret(const struct tool_set *set)
{
	size_t i;

	for (i = 0; i < set->n_loaded; i++)
		if (set->loaded[i]->result_secret.n > 0)
			return true;
	return false;
}

static void
print_finding(void *arg, const struct tool_finding *f)
{
	struct buf *out = arg;

	if (out->data[out->len - 1] == '}')
		buf_add_char(out, ',');
	buf_add_char(out, '{');
	buf_json_member_str(out, "code", f->code);
	buf_json_member_str(out, "level", tool_finding_word(f->level));
	buf_json_member_str(out, "pointer", f->pointer);
	buf_json_member_str(out, "text", f->text);
	buf_add_char(out, '}');
}

static void
print_policy(const struct tool_policy *policy,
    void (*more)(const struct tool_policy *policy, struct buf *out), struct buf *out)
{
	buf_add(out, policy->json, strlen(policy->json) - 1); /* up to its closing brace */
	buf_printf(out, ",\"version\":\"%" PRId64 "\",\"findings\":[", policy->version);
	tool_lint(policy, print_finding, out);
	buf_add_char(out, ']');
	if (more)
		more(policy, out);
	buf_add_char(out, '}');
}

void
tool_set_json(struct tool_set *set, char *const *ns, size_t n_ns,
    void (*more)(const struct tool_policy *policy, struct buf *out), struct buf *out)
{
	const struct tool_policy *policy;
	bool first = true;
	size_t i, j;

	buf_add_char(out, '[');
	for (i = 0; i < n_ns; i++)
		for (j = 0; j < set->n_loaded; j++) {
			policy = tool_set_at(set, j, ns[i]);
			if (policy == NULL)
				continue;
			if (!first)
				buf_add_char(out, ',');
			first = false;
			print_policy(policy, more, out);
		}
	buf_add_char(out, ']');
}

void
tool_set_each(struct tool_set *set, const char *ns,
    void (*cb)(void *arg, struct tool_policy *policy, const char *file), void *arg)
{
	struct tool_policy *bound;
	size_t i;

	for (i = 0; i < set->n_loaded; i++) {
		bound = tool_policy_bind(
		    set->loaded[i], set->loaded[i]->ns == NULL ? ns : set->loaded[i]->ns);
		seal(bound);
		cb(arg, bound, set->files[i]);
		tool_unref(bound);
	}
}
