/*
 * A policy for a tool that an MCP server describes, as far as the description goes: what a person
 * must decide stands in its member `decide`, with which it does not load. Pure.
 */
#ifndef EFFECTD_SKELETON_H
#define EFFECTD_SKELETON_H

#include "buf.h"
#include "json.h"

#include <stdbool.h>

/* The classes of policies, NULL at the end. */
extern const char *const skeleton_classes[];

/*
 * Appends the policy of the tool at node `tool` (an object), in lines, without a line break at its
 * end; `indent` stands before each line but the first. `class`: as a person has decided; NULL = as
 * the annotations hint. False: such a tool can have no policy, *ret_why is an owned line. *ret_name
 * is its name, owned, or NULL where it has none.
 */
bool skeleton_write(struct buf *out, const struct json_doc *doc, uint32_t tool, const char *class,
    const char *indent, char **ret_name, char **ret_why);
/*
 * The name of its file: of letters, digits and `._-`, all else as %XX; never one that begins with a
 * dot; what is long ends in a hash of the whole, so that two tools never have one file's name.
 * Owned.
 */
char *skeleton_file(const char *name);

#endif
