/* One table of kinds. Owns nothing. */
#include "effect_kind.h"

#include <string.h>

static const struct {
	enum effect_kind kind;
	int code; /* of an error */
	const char *name, *text;
	const char *decision; /* of begin */
} kinds[] = {
    {EFFECT_OK, 0, "Ok", "done as asked", NULL},
    {EFFECT_RUN, 0, "Run", "make the call now, once", NULL},
    {EFFECT_PASS, 0, "Pass", "make the call, there is nothing to report", "pass"},
    {EFFECT_REPLAY, 0, "Replay", "it is done, its result is at hand", NULL},
    {EFFECT_RESULT_GONE, 0, "ResultGone", "it is done, its result is kept no more", NULL},
    {EFFECT_FAILED, 0, "Failed", "it was refused for good", NULL},
    {EFFECT_BUSY, 0, "Busy", "somebody else is making this call", "busy"},
    {EFFECT_MISMATCH, 0, "Mismatch", "this key stands for other arguments", "mismatch"},
    {EFFECT_UNKNOWN, 0, "Unknown", "nobody knows yet whether it landed", "unknown"},
    {EFFECT_ESCALATED, 0, "Escalated", "a person has to decide", "escalated"},
    {EFFECT_EXHAUSTED, 0, "Exhausted", "its attempts are used up", "exhausted"},
    {EFFECT_HELD, 0, "Held", "a duplicate under another key is held back", "held"},
    {EFFECT_STRANGE, 0, "Strange", "an answer that this library does not know", NULL},
    {EFFECT_LATE, 0, "Late", "too late to start, the claim was given back", NULL},
    {EFFECT_UNAVAILABLE, -32001, "Unavailable", "the ledger could not be reached in time", NULL},
    {EFFECT_NOT_RECORDED, 0, "NotRecorded", "the call was made, and could not be recorded", NULL},
    {EFFECT_CONFLICT, -32008, "Conflict", "another outcome stands", NULL},
    {EFFECT_LOST, 0, "Lost", "the lease is lost", NULL},
    {EFFECT_CANCELLED, 0, "Cancelled", "nobody waits for it any more", NULL},
    {EFFECT_PARSE_ERROR, -32700, "ParseError", "the line was no JSON", NULL},
    {EFFECT_INVALID_REQUEST, -32600, "InvalidRequest", "the line was no request", NULL},
    {EFFECT_UNKNOWN_METHOD, -32601, "UnknownMethod", "there is no such method", NULL},
    {EFFECT_INVALID_PARAMS, -32602, "InvalidParams", "a member of params breaks a rule", NULL},
    {EFFECT_INTERNAL, -32603, "Internal", "a bug of the daemon", NULL},
    {EFFECT_DENIED, -32003, "Denied", "this user may not do that", NULL},
    {EFFECT_NOT_FOUND, -32004, "NotFound", "there is no such effect", NULL},
    {EFFECT_NOT_OWNER, -32005, "NotOwner", "the token does not hold this claim", NULL},
    {EFFECT_OVERLOADED, -32006, "Overloaded", "a limit of the daemon", NULL},
    {EFFECT_TOOL_FAILED, -32007, "ToolFailed", "the tool's SQL raised an error", NULL},
    {EFFECT_WIRE_ERROR, 0, "WireError", "an error that this library does not know", NULL},
    {EFFECT_ENOMEM, 0, "NoMemory", "out of memory", NULL},
    {EFFECT_MISUSE, 0, "Misuse", "the library was not used as its header says", NULL},
    {EFFECT_ESYSTEM, 0, "System", "the system gives no randomness or no clock", NULL},
    {EFFECT_TOOL_ERROR, 0, "ToolError", "the tool answered with an error", NULL},
    {EFFECT_NOT_SENT, 0, "NotSent", "nothing was sent", NULL},
    {EFFECT_RAISED, 0, "Raised", "it is not known whether it landed", NULL},
};

#define N_KINDS (sizeof kinds / sizeof *kinds)

const char *
effect_kind_name(enum effect_kind kind)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return "?";
}

const char *
effect_strerror(enum effect_kind kind)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i].kind == kind)
			return kinds[i].text;
	return "no kind of libeffect";
}

enum effect_kind
effect_kind_of_code(int64_t code)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i].code != 0 && kinds[i].code == code)
			return kinds[i].kind;
	return EFFECT_WIRE_ERROR;
}

enum effect_kind
effect_kind_of_decision(const char *decision, size_t len)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i].decision && strlen(kinds[i].decision) == len &&
		    memcmp(kinds[i].decision, decision, len) == 0)
			return kinds[i].kind;
	return EFFECT_STRANGE;
}

bool
effect_kind_again(enum effect_kind kind)
{
	return kind == EFFECT_UNAVAILABLE || kind == EFFECT_INTERNAL || kind == EFFECT_OVERLOADED;
}
