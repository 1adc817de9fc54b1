/* Connection strings, word by word. Reading a whole one is PQconninfoParse()'s. */
#include "conninfo.h"

#include "alloc.h"

#include <string.h>

void
conninfo_add(struct buf *conninfo, const char *keyword, const char *value)
{
	buf_printf(conninfo, "%s%s='", conninfo->len > 0 ? " " : "", keyword);
	for (; *value; value++) {
		if (*value == '\'' || *value == '\\')
			buf_add_char(conninfo, '\\');
		buf_add_char(conninfo, *value);
	}
	buf_add_char(conninfo, '\'');
}

size_t
conninfo_list_length(const char *list)
{
	size_t n = 1;

	for (; list && *list; list++)
		n += *list == ',';
	return n;
}

char *
conninfo_list_part(const char *list, size_t i)
{
	if (!list)
		return NULL;
	if (!strchr(list, ','))
		return xstrdup(list);
	while (i-- > 0) {
		list = strchr(list, ',');
		if (!list)
			return NULL;
		list++;
	}
	return xstrndup(list, strcspn(list, ","));
}
