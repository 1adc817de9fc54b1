/*
 * What an arg is by its name, and what a tool does by its: for advice on policies. A name proves
 * nothing. Pure.
 */
#ifndef EFFECTD_TOOL_FIELD_H
#define EFFECTD_TOOL_FIELD_H

#include <stdbool.h>

struct tool_field {
	const char *code; /* of the finding where a key is made of it */
	const char *text; /* why: what follows the field's name */
};

/* NULL: nothing that the name shows speaks against it. */
const struct tool_field *tool_field_of(const char *pointer);
/* Does it let somebody in, so that it should be stored nowhere? */
bool tool_field_is_secret(const char *pointer);
/* Does it name one thing among its kind, as an order or a line of it? */
bool tool_field_is_id(const char *pointer);
/* Is it how much, of which another value is another effect? */
bool tool_field_is_amount(const char *pointer);
/* Does a tool of this name do something that was not there before, by the first word of its name?
 */
bool tool_field_adds(const char *tool);
/* Or takes something away? */
bool tool_field_removes(const char *tool);

#endif
