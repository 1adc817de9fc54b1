/*
 * A mail with a text and an HTML form of one page, for `sendmail -t`.
 */
#ifndef EFFECTD_MAIL_H
#define EFFECTD_MAIL_H

#include "buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Borrowed. */
struct mail {
	const char *to, *from;	       /* of mail_address() */
	const char *subject;	       /* what is not printed ASCII becomes '?' */
	const char *host;	       /* for the message's id */
	int64_t date_s;		       /* since the Unix epoch */
	const struct buf *text, *html; /* UTF-8, lines that end in LF */
};

/*
 * May it stand in a header as it is: `ops@example.org`, or a local name, `root`? One address of
 * letters, digits and the marks that need no quotes; no display name, no list, no blanks.
 */
bool mail_address(const char *text);
/* Appends the message: MIME, multipart/alternative, quoted-printable, lines that end in LF. */
void mail_add(struct buf *out, const struct mail *mail);

#endif
