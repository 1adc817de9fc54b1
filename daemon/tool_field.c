/*
 * Args whose values do not outlast a repeat, told by their names: free text, ids made for one call,
 * readings of the clock, credentials; and what else a name shows. A name is compared word by word,
 * whether it is written payment_token, payment-token or paymentToken. Advice only: a name proves
 * nothing.
 */
#include "tool_field.h"

#include <stddef.h>
#include <string.h>

#define NAME_BYTES_MAX 64

/* A word with '*' before it also ends longer names: "*token" is payment_token, too. */
static const char *const free_text[] = {"*memo", "*note", "*notes", "*message", "msg", "*text",
    "*body", "*description", "desc", "*comment", "*comments", "*reason", "*summary", "*content",
    "subject", "title", "*prompt", "query", "question", "answer", "details", "explanation",
    "rationale", "justification", "thought", "thoughts", "*instructions", "remarks", "caption",
    NULL};
static const char *const call_id[] = {"*nonce", "*callid", "*toolcallid", "*tooluseid",
    "*requestid", "*traceid", "*spanid", "*correlationid", "*invocationid", "*responseid",
    "*messageid", "*idempotencykey", "*uuid", "*guid", "random", "salt", "attempt", "retry",
    "retries", NULL};
static const char *const instant[] = {"*timestamp", "ts", "now", "time", "date", "datetime",
    "today", "hour", "minute", "second", "epoch", "bucket", "createdat", "updatedat", "requestedat",
    "sentat", "issuedat", "expiresat", "calledat", NULL};
static const char *const credential[] = {"*token", "jwt", "*otp", "cookie", "session", "sessionid",
    "csrf", "signature", "authorization", NULL};
static const char *const secret[] = {"*password", "passwd", "*passphrase", "*secret", "*apikey",
    "*accesskey", "*privatekey", "*credential", "*credentials", "*pin", "cvv", "cvc", "*cardnumber",
    "card", "pan", "ssn", NULL};
static const char *const identity[] = {"*id", "*number", "*ref", "*reference", "*sku", "*code",
    "*slug", "*key", "no", "line", "*item", "position", "index", "version", "tag", "release",
    "period", "month", "year", "order", "invoice", "ticket", "account", "customer", "username",
    "*path", "*url", "*uri", NULL};
static const char *const amount[] = {
    "*amount", "*price", "*total", "*quantity", "qty", "*cost", "*sum", "*currency", "*fee", NULL};
static const char *const adds[] = {"add", "append", "book", "buy", "charge", "create", "deploy",
    "email", "insert", "issue", "notify", "order", "pay", "place", "post", "publish", "refund",
    "send", "submit", "transfer", "upload", NULL};
static const char *const removes[] = {
    "cancel", "close", "delete", "drop", "purge", "remove", "revoke", "terminate", NULL};

static const struct {
	const char *const *words;
	struct tool_field field;
} kinds[] = {
    {free_text, {"key_free_text", "is free text, which a model words anew at each try"}},
    {call_id, {"key_call_id", "is made for one call, so that every repeat has a key of its own"}},
    {instant,
	{"key_clock", "is a reading of the clock, so that a later repeat has a key of its own"}},
    {credential,
	{"key_token", "is good for a short while, so that a later repeat has a key of its own"}},
};

struct name {
	char text[NAME_BYTES_MAX];   /* in small letters, without what stands between words */
	bool begins[NAME_BYTES_MAX]; /* a word begins there */
	size_t len;
};

static bool
is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

static struct name
read_name(const char *pointer)
{
	const char *c = strrchr(pointer, '/');
	struct name name = {0};
	bool begins = true;

	for (c = c == NULL ? pointer : c + 1; *c != '\0' && name.len < sizeof name.text - 1; c++) {
		if (*c == '_' || *c == '-') {
			begins = true;
			continue;
		}
		name.begins[name.len] = begins || is_capital(*c);
		name.text[name.len++] = is_capital(*c) ? (char)(*c - 'A' + 'a') : *c;
		begins = false;
	}
	return name;
}

static bool
fits(const struct name *name, const char *word)
{
	bool ends = word[0] == '*';
	size_t len = strlen(word + ends);

	if (len > name->len || (!ends && len < name->len))
		return false;
	return name->begins[name->len - len] &&
	    strcmp(name->text + name->len - len, word + ends) == 0;
}

static bool
fits_any(const struct name *name, const char *const *words)
{
	for (; *words != NULL; words++)
		if (fits(name, *words))
			return true;
	return false;
}

/* The first word of a tool's own name: behind what a server or a namespace puts before it. */
static bool
begins_with_any(const char *tool, const char *const *words)
{
	const char *own = tool + strlen(tool);
	struct name name;
	size_t len = 1;

	while (own > tool && strchr("./: ", own[-1]) == NULL)
		own--;
	name = read_name(own);
	while (len < name.len && !name.begins[len])
		len++;
	for (; *words != NULL; words++)
		if (strlen(*words) == len && strncmp(name.text, *words, len) == 0)
			return true;
	return false;
}

const struct tool_field *
tool_field_of(const char *pointer)
{
	struct name name = read_name(pointer);
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (fits_any(&name, kinds[i].words))
			return &kinds[i].field;
	return NULL;
}

bool
tool_field_is_secret(const char *pointer)
{
	struct name name = read_name(pointer);

	return fits_any(&name, secret) || fits_any(&name, credential);
}

bool
tool_field_is_id(const char *pointer)
{
	struct name name = read_name(pointer);

	return fits_any(&name, identity) && !tool_field_of(pointer) &&
	    !tool_field_is_secret(pointer);
}

bool
tool_field_is_amount(const char *pointer)
{
	struct name name = read_name(pointer);

	return fits_any(&name, amount);
}

bool
tool_field_adds(const char *tool)
{
	return begins_with_any(tool, adds);
}

bool
tool_field_removes(const char *tool)
{
	return begins_with_any(tool, removes);
}
