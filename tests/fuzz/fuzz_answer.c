/*
 * What libeffect reads of a line of the daemon's. Whatever the line: nothing is read past its end,
 * spans lie in it, what the daemon's own scanner takes for an object is understood alike, a `run`
 * has all that a holder needs, and a copy says what the line said. And what libeffect takes for
 * JSON is grammar.
 */
#include "effect_answer.h"
#include "fuzz.h"
#include "json.h"

static struct json_doc doc;

static bool
in_line(const struct effect_json_span *span, const char *line, size_t len)
{
	return span->at >= line && span->at + span->len <= line + len;
}

/* Does the daemon's scanner take it for grammar? A value in it may be too deep for that one. */
static void
check_grammar(const char *text, size_t len)
{
	struct effect_json_span value;
	struct json_error error;
	bool ours = effect_json_one(text, len, EFFECT_JSON_DEPTH_MAX, &value);
	int theirs = json_scan(&doc, text, len, NULL, &error);

	if (theirs == ERR_PARSE && error.fault == JSON_DEPTH)
		return;
	must(ours == (theirs != ERR_PARSE), "the two scanners agree on \"%.*s\"", (int)len, text);
	must(!ours || in_line(&value, text, len), "a value lies in its text");
}

/* The unescaped text of the string member `name`, as the daemon's reader has it. */
static void
check_text(const struct effect_answer *answer, uint32_t object, const char *name)
{
	uint32_t node = json_member(&doc, object, name);
	const char *text = effect_answer_text(answer, name);
	size_t len;
	char *theirs;

	if (!node || doc.nodes[node].type != JSON_STRING)
		return;
	theirs = json_string(&doc, node, &len);
	if (strlen(theirs) == len)
		must(text && strcmp(text, theirs) == 0, "%s reads \"%s\"", name, theirs);
	else
		must(!text, "no text with a NUL in it");
	free(theirs);
}

static void
check_answer(const char *line, size_t len, const struct effect_wire *wire, enum effect_kind kind)
{
	static const char *const names[] = {
	    "decision", "advice", "token", "effect", "message", "result"};
	struct effect_answer *answer = effect_answer_new(wire, kind);
	size_t whole;
	const char *raw = effect_answer_raw(answer, NULL, &whole);
	uint32_t object;

	must(answer->kind == kind, "its kind");
	must(whole == wire->body.len && memcmp(raw, wire->body.at, whole) == 0, "its very bytes");
	if (json_scan(&doc, line, len, NULL, NULL) == 0) {
		object = json_member(&doc, 0, wire->is_error ? "error" : "result");
		must(object, "the daemon's scanner finds it, too");
		for (size_t i = 0;
		     doc.nodes[object].type == JSON_OBJECT && i < sizeof names / sizeof *names; i++)
			check_text(answer, object, names[i]);
	}
	effect_answer_free(answer);
}

static void
check_line(const char *line, size_t len)
{
	struct effect_json_span token;
	enum effect_kind kind;
	struct effect_wire wire;
	char why[64];

	check_grammar(line, len);
	if (!effect_answer_read(line, len, &wire) || !wire.is_answer)
		return;
	must(in_line(&wire.body, line, len), "the body lies in its line");
	if (wire.is_error) {
		must(wire.body.type == EFFECT_JSON_OBJECT, "an error is an object");
		kind = effect_answer_of_error(&wire.body);
		must(kind >= EFFECT_UNAVAILABLE, "no error is a run, nor a replay");
		effect_answer_why(&wire.body, why, sizeof why);
		must(memchr(why, '\0', sizeof why), "a reason ends");
	} else {
		kind = effect_answer_of_begin(&wire.body);
	}
	if (kind == EFFECT_RUN)
		must(effect_answer_find(&wire.body, "token", &token) && token.len <= 64 &&
			effect_answer_find(&wire.body, "decision", &token) &&
			effect_json_is(&token, "run"),
		    "a run says so, and has its token");
	check_answer(line, len, &wire, kind);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, data + size};

	while (in.p < in.end) {
		size_t len;
		char *line = fuzz_line(&in, &len), *exact = malloc(len);

		if (len > 0) /* without a NUL behind it, so that a read past its end is seen */
			memcpy(exact, line, len);
		check_line(exact, len);
		free(exact);
		free(line);
	}
	json_free(&doc);
	return 0;
}
