/*
 * Reading them, and nothing else: what is read goes where the caller sends it, and never into a
 * log, a table or a reason.
 */
#include "credential.h"

#include "alloc.h"
#include "file.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define CREDENTIAL_BYTES_MAX 8192

/* More than one line in a header would be a header of somebody else's. */
static bool
one_line(char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	return len > 0 && !text_has_control(text, len);
}

bool
credential_is_place(const char *where)
{
	return where[0] != '\0' && !strstr(where, "..") && !text_has_control(where, strlen(where));
}

char *
credential_read(const char *where, char **ret_why)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char *path, *text;
	bool missing;
	size_t len;

	if (where[0] != '/' && !folder) {
		*ret_why = xstrdup("needs $CREDENTIALS_DIRECTORY, which is not set");
		return NULL;
	}
	path = where[0] == '/' ? xstrdup(where) : xasprintf("%s/%s", folder, where);
	text = file_read(path, CREDENTIAL_BYTES_MAX, &len, &missing, ret_why);
	free(path);
	if (text && !one_line(text, len)) {
		*ret_why = xstrdup("is not one line of text");
		free(text);
		text = NULL;
	}
	return text;
}
