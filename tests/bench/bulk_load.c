/*
 * The ceiling of batched SQL without effectd: threads that insert and then update N rows a
 * statement, through unnest of array parameters, prepared, index plans forced. One unit is a row
 * that went through both; a latency is a whole batch.
 *
 *   bulk_load CONNINFO CONNECTIONS BATCH SECONDS WARM_SECONDS
 * Expects the table of tests/bench/run.
 */
#include "alloc.h"
#include "bench.h"
#include "buf.h"
#include "digest.h"

#include <err.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESULT                                                                  \
	"{\\\"status\\\":\\\"ok\\\",\\\"refund\\\":\\\"re_77\\\",\\\"body\\\":" \
	"\\\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\\\"}"

struct worker {
	pthread_t thread;
	struct samples samples;
	uint64_t n_rows;
};

static const char *conninfo;
static int batch;
static atomic_int phase; /* 0 warm, 1 measured, 2 over */

static void
check(PGconn *pg, PGresult *result, ExecStatusType want)
{
	if (PQresultStatus(result) != want)
		errx(70, "%s", PQerrorMessage(pg));
	PQclear(result);
}

static PGconn *
open_connection(void)
{
	PGconn *pg = PQconnectdb(conninfo);

	if (PQstatus(pg) != CONNECTION_OK)
		errx(69, "%s", PQerrorMessage(pg));
	check(pg,
	    PQexec(pg,
		"set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off"),
	    PGRES_COMMAND_OK);
	check(pg,
	    PQprepare(pg, "claim",
		"insert into bench (key, hash) select k, '\\x00' from unnest($1::text[]) k"
		" on conflict do nothing",
		0, NULL),
	    PGRES_COMMAND_OK);
	check(pg,
	    PQprepare(pg, "record",
		"update bench b set state = 1, result = u.r, done_at = now()"
		" from unnest($1::text[], $2::text[]) u(k, r) where b.key = u.k",
		0, NULL),
	    PGRES_COMMAND_OK);
	return pg;
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	PGconn *pg = open_connection();
	struct buf keys = {0}, results = {0};

	while (atomic_load(&phase) < 2) {
		const char *values[2];
		double began_ms = bench_now_ms();

		buf_clear(&keys);
		buf_clear(&results);
		for (int i = 0; i < batch; i++) {
			struct uuid u = uuid_random();
			char text[UUID_TEXT_BYTES];

			uuid_text(&u, text);
			buf_printf(&keys, "%c%s", i == 0 ? '{' : ',', text);
			buf_printf(&results, "%c\"" RESULT "\"", i == 0 ? '{' : ',');
		}
		buf_add_char(&keys, '}');
		buf_add_char(&results, '}');
		values[0] = buf_str(&keys);
		values[1] = buf_str(&results);
		check(pg, PQexecPrepared(pg, "claim", 1, values, NULL, NULL, 0), PGRES_COMMAND_OK);
		check(pg, PQexecPrepared(pg, "record", 2, values, NULL, NULL, 0), PGRES_COMMAND_OK);
		if (atomic_load(&phase) == 1) {
			samples_add(&w->samples, bench_now_ms() - began_ms);
			w->n_rows += (uint64_t)batch;
		}
	}
	buf_free(&keys);
	buf_free(&results);
	PQfinish(pg);
	return NULL;
}

int
main(int argc, char **argv)
{
	struct worker *workers;
	struct samples all = {0};
	uint64_t n_rows = 0;
	double began_ms, elapsed_ms;
	int n_workers;

	if (argc != 6)
		errx(64, "usage: bulk_load CONNINFO CONNECTIONS BATCH SECONDS WARM_SECONDS");
	conninfo = argv[1];
	n_workers = atoi(argv[2]);
	batch = atoi(argv[3]);
	if (n_workers < 1 || batch < 1)
		errx(64, "bad numbers");
	workers = xcalloc((size_t)n_workers, sizeof(*workers));
	for (int i = 0; i < n_workers; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			errx(71, "no thread");
	usleep((useconds_t)(atof(argv[5]) * 1e6));
	atomic_store(&phase, 1);
	began_ms = bench_now_ms();
	usleep((useconds_t)(atof(argv[4]) * 1e6));
	elapsed_ms = bench_now_ms() - began_ms;
	atomic_store(&phase, 2);
	for (int i = 0; i < n_workers; i++) {
		pthread_join(workers[i].thread, NULL);
		n_rows += workers[i].n_rows;
		for (size_t k = 0; k < workers[i].samples.n; k++)
			samples_add(&all, workers[i].samples.ms[k]);
		free(workers[i].samples.ms);
	}
	free(workers);
	samples_print(&all, n_rows, elapsed_ms);
	return 0;
}
