/*
 * Commands that the wire suggests, shown so that they can be pasted into a shell. Pure.
 */
#ifndef EFFECTD_COMMAND_H
#define EFFECTD_COMMAND_H

#include "buf.h"

#include <stdbool.h>

/*
 * Appends `line`, one command of plain and quoted words, with each word quoted anew by
 * show_shell(), so that it is safe to look at and to paste. What is more than that (an operator, an
 * expansion, an open quote, another line) is no suggestion of ours: it is appended escaped, behind
 * "# ", so that pasting it does nothing, and false is returned.
 */
bool command_add(struct buf *out, const char *line);

#endif
