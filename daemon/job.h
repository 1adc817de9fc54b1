/*
 * Blocking work of our own (an install, initdb) in a forked child, so that the loop goes on. The
 * child has its own session, no descriptor of ours but the pipe that its word comes back through,
 * and default signals. Commands of the host's files are child.h's.
 */
#ifndef EFFECTD_JOB_H
#define EFFECTD_JOB_H

struct job;

/*
 * Runs run(arg) in a child; what it returns is one line saying why it failed, or NULL. `done` then
 * gets the same (in memory valid during the call), or why there was no word, once, from the loop.
 */
struct job *job_start(
    char *(*run)(void *arg), void (*done)(const char *error, void *arg), void *arg);
/* Kills the child and all that it started; `done` is not called. NULL is fine. */
void job_kill(struct job *job);

/* In a child: default signals, nothing blocked, no descriptor above stderr but `keep_fd` (-1 =
 * none), which becomes 3. */
void job_detach(int keep_fd);

#endif
