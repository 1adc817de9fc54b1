/* The words of strangers (a server's error, a name in a folder) as reasons that are stored and
 * shown. Pure. */
#ifndef EFFECTD_REASON_H
#define EFFECTD_REASON_H

/* Makes `text` one line of UTF-8 of at most REASON_BYTES_MAX bytes, ended at a character's edge:
 * control characters become '?', and in what is not UTF-8 all that is not ASCII. */
void reason_tame(char *text);

#endif
