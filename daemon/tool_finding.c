/* The one table of findings, by its codes. Pure. */
#include "tool_finding.h"

#include <string.h>

static const struct {
	const char *code;
	enum tool_level level;
} findings[] = {
#define FINDING(code, level) {#code, TOOL_##level},
#include "tool_findings.def"
#undef FINDING
};

const char *
tool_finding_word(enum tool_level level)
{
	static const char *const names[] = {
	    [TOOL_ERROR] = "error", [TOOL_WARNING] = "warning", [TOOL_ADVICE] = "advice"};

	return names[level];
}

bool
tool_finding_level(const char *code, enum tool_level *ret_level)
{
	for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
		if (strcmp(code, findings[i].code) != 0)
			continue;
		*ret_level = findings[i].level;
		return true;
	}
	return false;
}

const char *
tool_finding_code(size_t i)
{
	return i < sizeof findings / sizeof *findings ? findings[i].code : NULL;
}
