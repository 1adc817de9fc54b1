/*
 * Policy files. A folder loads as a whole or not at all, and then one line says which file, where
 * and why; a policy that loads keeps within its table's ranges, and its effective form is
 * canonical, reads back as itself and has the same version; a redacted result holds no byte of a
 * secret and every byte of the rest.
 *
 * An input is: a byte (bit 0: annotations are trusted), a result's line, the file's text.
 */
#include "alloc.h"
#include "canon.h"
#include "fuzz.h"
#include "limits.h"
#include "tool.h"
#include "tool_parse.h"

#include <sys/stat.h>
#include <unistd.h>

#define SECRET "\"[secret]\""
#define GOOD_NAME "good_neighbour" /* of the file that stands beside every input */

static char folder[256], file[300];
static struct buf form, redacted;
static struct json_doc doc;

static void
write_file(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	must(f && fwrite(text, 1, len, f) == len && fclose(f) == 0, "%s is written", path);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char good[] = "{\"name\":\"" GOOD_NAME "\"}";
	const char *tmp = getenv("TMPDIR");
	char path[300];

	(void)argc, (void)argv;
	snprintf(folder, sizeof folder, "%s/effectd-fuzz-XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(folder), "a folder");
	snprintf(path, sizeof path, "%s/b.json", folder);
	write_file(path, good, sizeof good - 1);
	snprintf(file, sizeof file, "%s/a.json", folder);
	return 0;
}

/* Every member within what the table says, whatever the file spelt. */
static void
check_ranges(const struct tool_policy *p)
{
	for (size_t i = 0; i < tool_policy_n_members; i++) {
		const struct tool_policy_member *m = &tool_policy_members[i];
		const char *field = (const char *)p + m->offset;
		int64_t v = m->min;

		if (m->kind == TOOL_KIND_DURATION || m->kind == TOOL_KIND_BYTES)
			v = *(const int64_t *)field;
		else if (m->kind == TOOL_KIND_COUNT)
			v = *(const int32_t *)field;
		if (v == 0 && !m->def)
			continue; /* there is none */
		must(v >= m->min && v <= m->max, "%s is in range", m->name);
	}
	must(p->n_probe_backoff > 0, "a probe is asked again some time");
	for (size_t i = 0; i < p->n_probe_backoff; i++)
		must(p->probe_backoff_ms[i] >= 0, "and that is a time");
}

static void
check_pointers(const struct tool_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		must(json_pointer_valid(list->items[i]), "\"%s\" is a pointer", list->items[i]);
}

static void
check_policy(const struct tool_policy *p)
{
	must(p->name && strlen(p->name) <= TOOL_BYTES_MAX && !key_check(p->name, strlen(p->name)),
	    "a policy has the name of a tool");
	must(!p->ns || (*p->ns && strlen(p->ns) <= NAMESPACE_BYTES_MAX), "a namespace has a name");
	must(p->guarded == (p->class == TOOL_ACCUMULATE || p->class == TOOL_IRREVERSIBLE),
	    "what a repeat would double is guarded");
	must(p->key && p->on_error, "a key, and what an error means");
	must(strcmp(p->on_unknown, "probe") == 0 || strcmp(p->on_unknown, "human") == 0 ||
		strcmp(p->on_unknown, "retry") == 0,
	    "%s", p->on_unknown);
	must((strcmp(p->on_unknown, "retry") == 0) == (p->retry_window_ms > 0),
	    "who is called again has a window, and nobody else");
	must(p->keep_result_ms <= p->keep_key_ms, "no result outlives its key");
	must(!p->business == (p->business_key.n == 0), "a business key has its template");
	must(!p->business || p->business_window_ms <= p->keep_key_ms,
	    "a twin is known as long as it counts");
	must(p->fingerprint_skip.n == p->ignore.n + p->secret.n + (p->provider_key_to != NULL),
	    "ignored, secret and the provider's own key");
	must(p->probe_exec.n == 0 || p->probe_exec.items[0][0] == '/', "a command has a path");
	check_ranges(p);
	check_pointers(&p->ignore);
	check_pointers(&p->secret);
	check_pointers(&p->result_secret);
	check_pointers(&p->keep);
	check_pointers(&p->business_key);
	for (size_t i = 0; i < p->keep.n; i++) {
		for (size_t j = 0; j < p->secret.n; j++)
			must(!json_pointer_under(p->keep.items[i], p->secret.items[j]) &&
				!json_pointer_under(p->secret.items[j], p->keep.items[i]),
			    "%s is no secret", p->keep.items[i]);
	}
}

/* The first fault that a parse told, owned. */
static void
first_fault(void *arg, const struct tool_finding *f)
{
	char **first = arg;
	enum tool_level level;

	must(tool_finding_level(f->code, &level) && level == f->level, "%s is a code", f->code);
	must(json_utf8(f->text, strlen(f->text)), "it is text: %s", f->text);
	fuzz_check_message(f->text);
	if (!*first)
		*first = xasprintf("%s: %s", f->file, f->text);
}

/* What goes into the ledger: canonical, and a policy file that gives itself. */
static void
check_effective(const struct tool_policy *p)
{
	struct tool_policy *bound = tool_policy_bind(p, p->ns ? p->ns : "n"), *again;
	struct tool_parse_list list = {0};
	char *error = NULL;

	tool_policy_seal(bound);
	must(json_scan(&doc, bound->json, strlen(bound->json), NULL, NULL) == 0, "%s", bound->json);
	form.len = 0;
	canon_value(&form, &doc, 0, NULL, 0);
	must(strcmp(buf_str(&form), bound->json) == 0, "%s is canonical", bound->json);
	must(bound->version >= 0, "a version is not negative");
	must(tool_parse(&list, "f", bound->json, strlen(bound->json), false, first_fault, &error),
	    "%s is a policy: %s", bound->json, error);
	must(list.n == 1, "one");
	again = tool_policy_bind(list.items[0], list.items[0]->ns);
	tool_policy_seal(again);
	must(strcmp(again->json, bound->json) == 0 && again->version == bound->version,
	    "%s comes back as %s", bound->json, again->json);
	tool_policy_free(list.items[0]);
	free(list.items);
	tool_policy_free(again);
	tool_policy_free(bound);
}

static bool
is_twin(const struct tool_policy *a, const struct tool_policy *b)
{
	return strcmp(a->name, b->name) == 0 && !a->ns == !b->ns &&
	    (!a->ns || strcmp(a->ns, b->ns) == 0);
}

/* The folder: as good as its worst file, and no two policies for one tool. */
static void
check_folder(const char *text, size_t len, bool trust, const struct tool_parse_list *list, bool ok)
{
	char *error = NULL;
	bool missing = true;
	struct tool_set *set;

	for (size_t i = 0; i < list->n; i++) {
		ok &= list->items[i]->ns || strcmp(list->items[i]->name, GOOD_NAME) != 0;
		for (size_t j = 0; j < i; j++)
			ok &= !is_twin(list->items[i], list->items[j]);
	}
	write_file(file, text, len);
	set = tool_set_load(folder, trust, &missing, &error);
	must(!missing && (set != NULL) == ok, "the folder loads if all of it does: %s",
	    error ? error : "");
	must(!set == !!error, "a refusal has its message");
	if (error) {
		fuzz_check_message(error);
		must(strstr(error, "a.json"), "it names the file: %s", error);
	}
	for (size_t i = 0; set && i < list->n; i++) {
		const char *ns = list->items[i]->ns ? list->items[i]->ns : "some";
		struct tool_policy *found = tool_find(set, ns, list->items[i]->name);

		must(found && strcmp(found->ns, ns) == 0, "%s is found", list->items[i]->name);
		must(tool_by_version(found->version) == found, "by its version, too");
	}
	must(!set || tool_find(set, "some", GOOD_NAME), "and so is its neighbour");
	tool_set_free(set);
	free(error);
}

/* The values that `pointer` leads to are the mark; a fault means that all of it is. */
static void
check_redaction(const struct tool_policy *p, const char *text, size_t len)
{
	struct json_doc after = {0};
	struct json_error error;
	uint32_t node;
	bool was;
	int rc;

	redacted.len = 0;
	was = tool_redact_result(p, text, len, &redacted);
	must(was || redacted.len == 0, "nothing is written unless something is redacted");
	rc = json_scan(&doc, text, len, NULL, &error);
	if (rc == ERR_PARSE) {
		must(was == (p->result_secret.n > 0), "what cannot be looked into is secret");
		must(!was || strcmp(buf_str(&redacted), SECRET) == 0, "as a whole");
		return;
	}
	for (size_t i = 0; i < p->result_secret.n; i++)
		must(was || !json_pointer(&doc, 0, p->result_secret.items[i], &node), "%s stays",
		    p->result_secret.items[i]);
	if (!was)
		return;
	/* the rest stays: so what was a fault there is one still, and none comes in */
	must(json_scan(&after, redacted.data, redacted.len, NULL, &error) != ERR_PARSE, "%.*s",
	    (int)redacted.len, redacted.data);
	for (size_t i = 0; rc == 0 && i < p->result_secret.n; i++) {
		if (!json_pointer(&after, 0, p->result_secret.items[i], &node))
			continue;
		must(after.nodes[node].end - after.nodes[node].start == sizeof SECRET - 1 &&
			memcmp(redacted.data + after.nodes[node].start, SECRET,
			    sizeof SECRET - 1) == 0,
		    "%s is secret: %.*s", p->result_secret.items[i], (int)redacted.len,
		    redacted.data);
	}
	json_free(&after);
	/* a second look changes nothing */
	form.len = 0;
	if (tool_redact_result(p, redacted.data, redacted.len, &form))
		fuzz_same(&form, &redacted, "redacted twice");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, data + size};
	struct fuzz_random r = fuzz_random(data, size);
	bool trust = fuzz_byte(&in) & 1, ok;
	size_t len, result_len;
	char *result = fuzz_line(&in, &result_len), *text = fuzz_rest(&in, &len), *error = NULL;
	struct tool_parse_list list = {0};

	ok = tool_parse(&list, "a.json", text, len, trust, first_fault, &error);
	must(ok == !error, "a refusal has its message");
	if (error) {
		fuzz_check_message(error);
		must(strncmp(error, "a.json: ", 8) == 0 && error[8], "with the file: %s", error);
		must(json_utf8(error, strlen(error)), "as text: %s", error);
	}
	for (size_t i = 0; i < list.n; i++) {
		check_policy(list.items[i]);
		check_effective(list.items[i]);
		check_redaction(list.items[i], result, result_len);
	}
	if (fuzz_roll(&r, 4) == 0) /* it costs more than all else */
		check_folder(text, len, trust, &list, ok);
	for (size_t i = 0; i < list.n; i++)
		tool_policy_free(list.items[i]);
	free(list.items);
	free(error);
	free(text);
	free(result);
	return 0;
}
