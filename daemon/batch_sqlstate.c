/*
 * SQLSTATEs by prefix, the first that fits. Whatever is not named here is taken for an item that
 * the server refuses: it costs log2(n) calls to find out, and nobody else's answer.
 */
#include "batch_sqlstate.h"

#include <string.h>

#define PAUSE_FIRST_MS 10
#define PAUSE_LAST_MS 250

static const struct {
	const char *prefix;
	enum batch_action action;
} table[] = {
    {"40003", BATCH_DROP},	/* completion unknown: perhaps it is committed */
    {"40", BATCH_CONTENDED},	/* serialization, deadlock */
    {"55P03", BATCH_CONTENDED}, /* lock not available */
    {"55006", BATCH_AGAIN},	/* object in use */
    {"57014", BATCH_AGAIN},	/* somebody cancelled it before the commit */
    {"26000",
	BATCH_AGAIN}, /* a pooler that forgets prepared statements: pgconn stops to use them */
    {"42P05", BATCH_AGAIN},
    {"25006", BATCH_READ_ONLY},
    {"25", BATCH_DROP}, /* the session is in a transaction that is not ours */
    {"28", BATCH_DROP}, /* a pooler could not log in, or found no database */
    {"3D", BATCH_DROP},
    {"57P", BATCH_DROP}, /* shutting down, starting up */
    {"08", BATCH_DROP},
    {"53300", BATCH_DROP}, /* too many connections */
    {"53", BATCH_AGAIN},   /* disk full and its like */
    {"58", BATCH_AGAIN},   /* I/O errors */
    {"42804", BATCH_RECHECK},
    {"0A000", BATCH_RECHECK}, /* cached plan must not change result type */
    {"42P18", BATCH_RECHECK},
    {"42883", BATCH_RECHECK},
    {"42P01", BATCH_RECHECK},
    {"42703", BATCH_RECHECK},
    {"42704", BATCH_RECHECK},
    {"3F000", BATCH_RECHECK},
    {"42501", BATCH_RECHECK},
    {"42725", BATCH_RECHECK},
    {"ZE001", BATCH_RECHECK}, /* the default isolation was changed under us */
    {"ZE004", BATCH_RECHECK},
};

enum batch_action
batch_sqlstate_action(const char *sqlstate, const char *message, enum batch_kind kind, unsigned n)
{
	if (kind == BATCH_SLOW && !strcmp(sqlstate, "57014"))
		return BATCH_TIMED_OUT;
	if (!strcmp(sqlstate, "53200")) /* out of shared memory: half as many locks */
		return n > 1 ? BATCH_HALVE : BATCH_AGAIN;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (!strncmp(sqlstate, table[i].prefix, strlen(table[i].prefix)))
			return table[i].action;
	if (!strcmp(sqlstate, "XX000") && !strncmp(message, "cache lookup failed", 19))
		return BATCH_RECHECK; /* a function that was replaced at this moment */
	return BATCH_HALVE;
}

int64_t
batch_sqlstate_pause_ms(unsigned n_tries)
{
	int64_t ms = PAUSE_FIRST_MS;

	while (n_tries-- > 1 && ms < PAUSE_LAST_MS)
		ms *= 2;
	return ms < PAUSE_LAST_MS ? ms : PAUSE_LAST_MS;
}
