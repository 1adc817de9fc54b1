/*
 * Answers. Promise: what is not understood to the last brace is no answer, and no answer is a `run`
 * unless it says so once, with token, effect and lease. One block of memory an answer.
 */
#include "effect_answer.h"

#include "effect_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_TEXT_BYTES_MAX 64 /* a UUID and its quotes, and some */
#define WHY_BYTES 128

struct effect_member {
	const char *name, *text; /* text: NULL unless it is a string without U+0000 */
	struct effect_json_span raw;
};

/* Takes one member of the envelope; false if it stands there twice. */
static bool
take_once(struct effect_json_span *slot, bool *ret_seen, const struct effect_json_span *value)
{
	bool first = !*ret_seen;

	*ret_seen = true;
	*slot = *value;
	return first;
}

bool
effect_answer_read(const char *line, size_t len, struct effect_wire *ret)
{
	struct effect_json_span name, value, id = {0}, result = {0}, error = {0};
	bool has_id = false, has_result = false, has_error = false, good = true;
	struct effect_json_walk walk;
	int64_t number;

	effect_json_walk(&walk, line, len);
	while (good && effect_json_next(&walk, &name, &value)) {
		if (effect_json_is(&name, "id"))
			good = take_once(&id, &has_id, &value);
		else if (effect_json_is(&name, "result"))
			good = take_once(&result, &has_result, &value);
		else if (effect_json_is(&name, "error"))
			good = take_once(&error, &has_error, &value);
	}
	if (!good || walk.broken)
		return false;
	for (; walk.at < walk.end; walk.at++)
		if (!strchr(" \t\r", *walk.at) || *walk.at == '\0')
			return false;
	if (has_error && error.type != EFFECT_JSON_OBJECT)
		return false;
	*ret = (struct effect_wire){.is_error = has_error, .body = has_error ? error : result};
	ret->is_answer = has_id && (has_error || has_result);
	ret->is_nameless = has_id && id.type == EFFECT_JSON_NULL;
	if (has_id && effect_json_int(&id, &number) && number > 0)
		ret->id = (uint64_t)number;
	return true;
}

bool
effect_answer_find(
    const struct effect_json_span *object, const char *name, struct effect_json_span *ret)
{
	struct effect_json_span member, value;
	struct effect_json_walk walk;
	unsigned n = 0;

	effect_json_walk(&walk, object->at, object->len);
	while (effect_json_next(&walk, &member, &value)) {
		if (effect_json_is(&member, name)) {
			*ret = value;
			n++;
		}
	}
	return n == 1;
}

bool
effect_answer_find_int(const struct effect_json_span *object, const char *name, int64_t *ret)
{
	struct effect_json_span value;

	return effect_answer_find(object, name, &value) && effect_json_int(&value, ret);
}

static bool
find_string(const struct effect_json_span *object, const char *name, struct effect_json_span *ret)
{
	return effect_answer_find(object, name, ret) && ret->type == EFFECT_JSON_STRING;
}

/* An id that can be sent back as it stands. */
static bool
has_id_text(const struct effect_json_span *object, const char *name)
{
	struct effect_json_span value;

	return find_string(object, name, &value) && value.len > 2 && value.len <= ID_TEXT_BYTES_MAX;
}

static enum effect_kind
of_replay(const struct effect_json_span *result)
{
	struct effect_json_span outcome, recorded;

	if (!find_string(result, "outcome", &outcome))
		return EFFECT_STRANGE;
	if (effect_json_is(&outcome, "failed"))
		return EFFECT_FAILED;
	if (!effect_json_is(&outcome, "succeeded"))
		return EFFECT_STRANGE;
	return effect_answer_find(result, "result", &recorded) ? EFFECT_REPLAY : EFFECT_RESULT_GONE;
}

enum effect_kind
effect_answer_of_begin(const struct effect_json_span *result)
{
	struct effect_json_span decision;
	int64_t lease_ms;

	if (!find_string(result, "decision", &decision))
		return EFFECT_STRANGE;
	if (effect_json_is(&decision, "replay"))
		return of_replay(result);
	if (!effect_json_is(&decision, "run"))
		return effect_kind_of_decision(decision.at + 1, decision.len - 2);
	if (!has_id_text(result, "token") || !has_id_text(result, "effect") ||
	    !effect_answer_find_int(result, "lease_ms", &lease_ms) || lease_ms < 0)
		return EFFECT_STRANGE;
	return EFFECT_RUN;
}

enum effect_kind
effect_answer_of_error(const struct effect_json_span *error)
{
	int64_t code;

	if (!effect_answer_find_int(error, "code", &code))
		return EFFECT_WIRE_ERROR;
	return effect_kind_of_code(code);
}

/* A member's text into `to`, cut where it is too long; "" if there is none. */
static void
copy_text(const struct effect_json_span *object, const char *name, char *to, size_t size)
{
	struct effect_json_span value;
	size_t len = 0;

	if (find_string(object, name, &value))
		len = value.len - 2;
	if (len >= size)
		len = size - 1;
	if (len > 0) /* still escaped, so that it is one line */
		memcpy(to, value.at + 1, len);
	to[len] = '\0';
}

void
effect_answer_why(const struct effect_json_span *error, char *to, size_t size)
{
	char message[WHY_BYTES], why[WHY_BYTES] = "";
	struct effect_json_span data;

	copy_text(error, "message", message, sizeof message);
	if (effect_answer_find(error, "data", &data) && data.type == EFFECT_JSON_OBJECT)
		copy_text(&data, "why", why, sizeof why);
	if (why[0] && !strstr(message, why))
		snprintf(to, size, "%s (%s)", message, why);
	else
		snprintf(to, size, "%s", message);
}

/* Members of `object` and, of an error, of its data; counts them and their texts first. */
struct filling {
	struct effect_answer *answer; /* NULL: only count */
	size_t n, n_text;
	char *text;
	const char *from; /* of the line */
	const char *to;	  /* where its copy stands */
};

static void
fill_member(
    struct filling *f, const struct effect_json_span *name, const struct effect_json_span *value)
{
	bool is_string = value->type == EFFECT_JSON_STRING;
	struct effect_member *m;
	size_t len;

	f->n_text += name->len + (is_string ? value->len : 0);
	f->n++;
	if (!f->answer)
		return;
	m = &f->answer->members[f->n - 1];
	*m = (struct effect_member){.name = f->text, .raw = *value};
	m->raw.at = f->to + (value->at - f->from);
	effect_json_unescape(name, f->text);
	f->text += name->len;
	if (!is_string)
		return;
	len = effect_json_unescape(value, f->text);
	if (strlen(f->text) == len)
		m->text = f->text;
	f->text += value->len;
}

static void
fill(struct filling *f, const struct effect_wire *wire)
{
	struct effect_json_span name, value, data;
	struct effect_json_walk walk;

	if (wire->body.type != EFFECT_JSON_OBJECT)
		return;
	effect_json_walk(&walk, wire->body.at, wire->body.len);
	while (effect_json_next(&walk, &name, &value))
		fill_member(f, &name, &value);
	if (!wire->is_error || !effect_answer_find(&wire->body, "data", &data) ||
	    data.type != EFFECT_JSON_OBJECT)
		return;
	effect_json_walk(&walk, data.at, data.len);
	while (effect_json_next(&walk, &name, &value))
		fill_member(f, &name, &value);
}

struct effect_answer *
effect_answer_new(const struct effect_wire *wire, enum effect_kind kind)
{
	struct filling count = {0}, f = {.from = wire->body.at};
	struct effect_answer *answer;
	char *copy;

	fill(&count, wire);
	answer = malloc(
	    sizeof *answer + count.n * sizeof *answer->members + count.n_text + wire->body.len);
	if (!answer)
		return NULL;
	*answer = (struct effect_answer){.kind = kind, .n_members = count.n};
	answer->members = (struct effect_member *)(answer + 1);
	f.text = (char *)(answer->members + count.n);
	copy = f.text + count.n_text;
	memcpy(copy, wire->body.at, wire->body.len);
	answer->whole = (struct effect_json_span){copy, wire->body.len, wire->body.type};
	f.answer = answer;
	f.to = copy;
	fill(&f, wire);
	return answer;
}

void
effect_answer_free(struct effect_answer *answer)
{
	if (answer && answer->let_go)
		answer->let_go(answer);
	free(answer);
}

enum effect_kind
effect_answer_kind(const struct effect_answer *answer)
{
	return answer ? answer->kind : EFFECT_UNAVAILABLE;
}

static const struct effect_member *
find_member(const struct effect_answer *answer, const char *name)
{
	for (size_t i = 0; answer && i < answer->n_members; i++)
		if (strcmp(answer->members[i].name, name) == 0)
			return &answer->members[i];
	return NULL;
}

const char *
effect_answer_text(const struct effect_answer *answer, const char *name)
{
	const struct effect_member *m = find_member(answer, name);

	return m ? m->text : NULL;
}

int64_t
effect_answer_int(const struct effect_answer *answer, const char *name, int64_t fallback)
{
	const struct effect_member *m = find_member(answer, name);
	int64_t value;

	return m && effect_json_int(&m->raw, &value) ? value : fallback;
}

bool
effect_answer_true(const struct effect_answer *answer, const char *name)
{
	const struct effect_member *m = find_member(answer, name);

	return m && m->raw.type == EFFECT_JSON_TRUE;
}

const char *
effect_answer_raw(const struct effect_answer *answer, const char *name, size_t *ret_len)
{
	const struct effect_member *m;
	const struct effect_json_span *raw;

	if (!answer)
		return NULL;
	if (!name) {
		raw = &answer->whole;
	} else {
		m = find_member(answer, name);
		if (!m)
			return NULL;
		raw = &m->raw;
	}
	*ret_len = raw->len;
	return raw->at;
}
