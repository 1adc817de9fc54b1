/* One line for each fault in a probe's policy. What is one is told by who reads it. */
#include "probe_fault.h"

#include "alloc.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>

bool
probe_fault(struct probe_fault *fault, const char *pointer, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(fault->ret_why, fmt, ap) < 0)
		alloc_out_of_memory();
	va_end(ap);
	*fault->ret_pointer = xstrdup(pointer);
	return false;
}

bool
probe_fault_unknown(
    struct probe_fault *fault, const char *pointer, const char *name, const char *const *names)
{
	const char *nearest;
	size_t n = 0;

	while (names[n])
		n++;
	nearest = text_nearest(name, names, n);
	if (!nearest)
		return probe_fault(fault, pointer, "unknown member '%s'", name);
	return probe_fault(
	    fault, pointer, "unknown member '%s', the nearest is '%s'", name, nearest);
}
