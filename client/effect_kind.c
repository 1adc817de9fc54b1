/* One table of kinds. Owns nothing. */
#include "effect_kind.h"

#include <string.h>

static const struct {
	enum effect_kind kind;
	const char *name, *text;
	const char *decision; /* of begin */
	int code;	      /* of an error */
} kinds[] = {
    {EFFECT_OK, "Ok", "done as asked", NULL, 0},
    {EFFECT_RUN, "Run", "make the call now, once", NULL, 0},
    {EFFECT_PASS, "Pass", "make the call, there is nothing to report", "pass", 0},
    {EFFECT_REPLAY, "Replay", "it is done, its result is at hand", NULL, 0},
    {EFFECT_RESULT_GONE, "ResultGone", "it is done, its result is kept no more", NULL, 0},
    {EFFECT_FAILED, "Failed", "it was refused for good", NULL, 0},
    {EFFECT_BUSY, "Busy", "somebody else is making this call", "busy", 0},
    {EFFECT_MISMATCH, "Mismatch", "this key stands for other arguments", "mismatch", 0},
    {EFFECT_UNKNOWN, "Unknown", "nobody knows yet whether it landed", "unknown", 0},
    {EFFECT_ESCALATED, "Escalated", "a person has to decide", "escalated", 0},
    {EFFECT_EXHAUSTED, "Exhausted", "its attempts are used up", "exhausted", 0},
    {EFFECT_HELD, "Held", "a duplicate under another key is held back", "held", 0},
    {EFFECT_STRANGE, "Strange", "an answer that this library does not know", NULL, 0},
    {EFFECT_LATE, "Late", "too late to start, the claim was given back", NULL, 0},
    {EFFECT_UNAVAILABLE, "Unavailable", "the ledger could not be reached in time", NULL, -32001},
    {EFFECT_NOT_RECORDED, "NotRecorded", "the call was made, and could not be recorded", NULL, 0},
    {EFFECT_CONFLICT, "Conflict", "another outcome stands", NULL, -32008},
    {EFFECT_LOST, "Lost", "the lease is lost", NULL, 0},
    {EFFECT_CANCELLED, "Cancelled", "nobody waits for it any more", NULL, 0},
    {EFFECT_PARSE_ERROR, "ParseError", "the line was no JSON", NULL, -32700},
    {EFFECT_INVALID_REQUEST, "InvalidRequest", "the line was no request", NULL, -32600},
    {EFFECT_UNKNOWN_METHOD, "UnknownMethod", "there is no such method", NULL, -32601},
    {EFFECT_INVALID_PARAMS, "InvalidParams", "a member of params breaks a rule", NULL, -32602},
    {EFFECT_INTERNAL, "Internal", "a bug of the daemon", NULL, -32603},
    {EFFECT_DENIED, "Denied", "this user may not do that", NULL, -32003},
    {EFFECT_NOT_FOUND, "NotFound", "there is no such effect", NULL, -32004},
    {EFFECT_NOT_OWNER, "NotOwner", "the token does not hold this claim", NULL, -32005},
    {EFFECT_OVERLOADED, "Overloaded", "a limit of the daemon", NULL, -32006},
    {EFFECT_TOOL_FAILED, "ToolFailed", "the tool's SQL raised an error", NULL, -32007},
    {EFFECT_WIRE_ERROR, "WireError", "an error that this library does not know", NULL, 0},
    {EFFECT_ENOMEM, "NoMemory", "out of memory", NULL, 0},
    {EFFECT_MISUSE, "Misuse", "the library was not used as its header says", NULL, 0},
    {EFFECT_ESYSTEM, "System", "the system has no randomness to give", NULL, 0},
    {EFFECT_TOOL_ERROR, "ToolError", "the tool answered with an error", NULL, 0},
    {EFFECT_NOT_SENT, "NotSent", "nothing was sent", NULL, 0},
    {EFFECT_RAISED, "Raised", "it is not known whether it landed", NULL, 0},
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
