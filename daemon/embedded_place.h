/*
 * Where the embedded cluster lives and whose it is; making it, finding and launching its server.
 * Blocking work is for a job.
 */
#ifndef EFFECTD_EMBEDDED_PLACE_H
#define EFFECTD_EMBEDDED_PLACE_H

#include "config.h"
#include "errors.h"

#include <stdbool.h>
#include <sys/types.h>

struct embedded_place {
	char *pg;     /* STATE/pg */
	char *data;   /* the cluster */
	char *unmade; /* the cluster until it is whole; so long as it is there, nothing can have
			 been lost */
	char *run;    /* the socket's folder */
	char *log;
	char *bin;  /* of a fitting PostgreSQL */
	char *user; /* whose it is; the server runs as */
	char *self; /* whom the daemon runs as */
	bool drop;  /* we are root and become `user` */
	uid_t uid;
	gid_t gid;
};

/* Finds all of that and makes pg/. ERR_INVALID_PARAMS with *ret_error as embedded_start() has it.
 */
int embedded_place_init(struct embedded_place *place, const struct config *config,
    bool has_instance, char **ret_error) must_check;
void embedded_place_free(struct embedded_place *place);

/* For job_start(): makes the cluster if there is none and writes who may enter; arg is the place.
 */
char *embedded_place_make(void *arg);
/* The process of the server that runs on this cluster, or 0. A lock file left by another process is
 * removed. */
pid_t embedded_place_running(const struct embedded_place *place);
/* Starts the server as a child in a session of its own, so that it outlives us; 0 with errno set
 * where fork fails. */
pid_t embedded_place_launch(const struct embedded_place *place);

#endif
