/* Secrets that stand in files of this host: tokens of probes, keys of webhooks. */
#ifndef EFFECTD_CREDENTIAL_H
#define EFFECTD_CREDENTIAL_H

#include <stdbool.h>

/* Can `where` be a credential's place: a path, or a name that does not leave its folder? */
bool credential_is_place(const char *where);

/*
 * The one line of a file, without its end: `where` is an absolute path, or the name of a file in
 * $CREDENTIALS_DIRECTORY (systemd's LoadCredential=). Read anew each time, as they are rotated
 * under us. Owned by the caller. NULL: *ret_why, owned, is half a sentence that holds nothing of
 * the file.
 */
char *credential_read(const char *where, char **ret_why);

#endif
