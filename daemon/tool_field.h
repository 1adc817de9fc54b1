/*
 * What an arg is by its name: for advice on keys. Pure.
 */
#ifndef EFFECTD_TOOL_FIELD_H
#define EFFECTD_TOOL_FIELD_H

struct tool_field {
	const char *code; /* of the finding where a key is made of it */
	const char *text; /* why: what follows the field's name */
};

/* NULL: nothing that the name shows speaks against it. */
const struct tool_field *tool_field_of(const char *pointer);

#endif
