/* Reasons that the ledger takes, whatever they were made of. */
#include "reason.h"

#include "json.h"
#include "limits.h"
#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CHARACTER_BYTES_MAX 4

/* Is it the beginning of a character, and no more? */
static bool
is_cut_character(const char *text)
{
	if ((unsigned char)*text < 0xc2 || (unsigned char)*text > 0xf4)
		return false;
	for (text++; *text; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			return false;
	return true;
}

/* A text may have been cut within a character, here or before. False: it is not UTF-8. */
static bool
end_at_character(char *text)
{
	size_t len = strlen(text);

	for (size_t n = 0; n < CHARACTER_BYTES_MAX && n <= len; n++)
		if (json_utf8(text, len - n)) {
			bool cut = n > 0 && is_cut_character(text + len - n);

			if (cut)
				text[len - n] = '\0';
			return cut || n == 0;
		}
	return false;
}

void
reason_tame(char *text)
{
	if (strlen(text) > REASON_BYTES_MAX)
		text[REASON_BYTES_MAX] = '\0';
	if (!end_at_character(text))
		for (char *c = text; *c; c++)
			if ((unsigned char)*c >= 0x80)
				*c = '?';
	text_blank_control(text, strlen(text));
}
