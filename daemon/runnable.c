/*
 * The walk from / to a file, link by link. Promise: what passes stays so until root or the daemon's
 * own user changes it, so that what is run right after is what was looked at. What the file reads
 * itself (an interpreter's script, a config) is its own affair.
 */
#include "runnable.h"

#include "alloc.h"
#include "reason.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* both as the kernel has them */
#define PATH_BYTES_MAX 4096

struct walk {
	char at[PATH_BYTES_MAX];   /* what was looked at last, without links; "" is / */
	char left[PATH_BYTES_MAX]; /* what is to come, from there */
	int n_links;
	bool *ret_missing;
	char **ret_why;
};

static const char *
walk_name(const struct walk *w)
{
	return w->at[0] ? w->at : "/";
}

/* Always false. */
static bool
walk_errno(struct walk *w, int error)
{
	*w->ret_missing = error == ENOENT || error == ENOTDIR;
	*w->ret_why = xasprintf("'%s': %s", walk_name(w), strerror(error));
	return false;
}

/* Nobody else's, and nobody else writes it. */
static bool
walk_trusts(struct walk *w, const struct stat *st)
{
	bool sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		*w->ret_why =
		    xasprintf("'%s' is owned by uid %u, neither root nor effectd's own user",
			walk_name(w), (unsigned)st->st_uid);
		return false;
	}
	if (!S_ISLNK(st->st_mode) && !sticky && st->st_mode & (S_IWGRP | S_IWOTH)) {
		*w->ret_why = xasprintf("'%s' can be written by %s (mode %04o)", walk_name(w),
		    st->st_mode & S_IWOTH ? "anybody" : "its group",
		    (unsigned)st->st_mode & 07777u);
		return false;
	}
	return true;
}

/* Puts what a link says in front of what is to come. */
static bool
walk_follow(struct walk *w)
{
	char target[PATH_BYTES_MAX], left[PATH_BYTES_MAX];
	ssize_t len = readlink(w->at, target, sizeof target - 1);

	if (len < 0)
		return walk_errno(w, errno);
	target[len] = '\0';
	if (++w->n_links > LINKS_MAX)
		return walk_errno(w, ELOOP);
	if (snprintf(left, sizeof left, "%s/%s", target, w->left) >= (int)sizeof left)
		return walk_errno(w, ENAMETOOLONG);
	memcpy(w->left, left, strlen(left) + 1);
	*strrchr(w->at, '/') = '\0';
	if (target[0] == '/')
		w->at[0] = '\0';
	return true;
}

/* Takes the next name off what is to come and puts it behind where we are; *ret_more: there was
 * one. False: it cannot be put there. */
static bool
walk_step(struct walk *w, bool *ret_more)
{
	const char *name = w->left + strspn(w->left, "/");
	size_t len = strcspn(name, "/"), at_len = strlen(w->at);

	*ret_more = len > 0;
	if (len == 2 && strncmp(name, "..", 2) == 0) {
		if (at_len > 0)
			*strrchr(w->at, '/') = '\0';
	} else if (len > 1 || (len == 1 && name[0] != '.')) {
		if (at_len + 1 + len >= sizeof w->at)
			return walk_errno(w, ENAMETOOLONG);
		w->at[at_len] = '/';
		memcpy(w->at + at_len + 1, name, len);
		w->at[at_len + 1 + len] = '\0';
	}
	memmove(w->left, name + len, strlen(name + len) + 1);
	return true;
}

static bool
walk_all(struct walk *w, const char *path)
{
	bool more = true;
	struct stat st;

	if (snprintf(w->left, sizeof w->left, "%s", path) >= (int)sizeof w->left)
		return walk_errno(w, ENAMETOOLONG);
	while (more) {
		if (lstat(walk_name(w), &st) != 0)
			return walk_errno(w, errno);
		if (!walk_trusts(w, &st) || (S_ISLNK(st.st_mode) && !walk_follow(w)) ||
		    !walk_step(w, &more))
			return false;
	}
	if (!S_ISREG(st.st_mode)) {
		*w->ret_why = xasprintf("'%s' is not a regular file", walk_name(w));
		return false;
	}
	if (access(path, X_OK) != 0)
		return walk_errno(w, errno);
	return true;
}

bool
runnable_check(const char *path, bool *ret_missing, char **ret_why)
{
	struct walk w = {.ret_missing = ret_missing, .ret_why = ret_why};

	assert(path[0] == '/');
	*ret_missing = false;
	if (walk_all(&w, path))
		return true;
	reason_tame(*ret_why); /* a link may lead to any bytes */
	return false;
}
