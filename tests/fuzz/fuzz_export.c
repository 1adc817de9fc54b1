/*
 * A provider's export, CSV and JSON lines. Whatever it holds: it is read to an end; a row's texts
 * are UTF-8, its amounts spelt in the one way, its line is one of the file's; and a good row that
 * stands on a line of its own behind all that is read as it stands, unless a quote was left open.
 *
 * An input is how it is read (a byte) and its text. A header is put before CSV.
 */
#include "decimal.h"
#include "export.h"
#include "fuzz.h"
#include "json.h"

#include <sys/mman.h>
#include <unistd.h>

#define HEAD "k,o,t,s\n"
#define LAST "last,1,86400,1.50\n"
#define LAST_JSON "{\"k\":\"last\",\"o\":1,\"t\":86400,\"s\":1.50}\n"

static int fd;
static struct export_plan plan;
static struct intake in;

static struct export_source
source(const char *name)
{
	return (struct export_source){.names = {(char *)name}, .n = 1};
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	fd = memfd_create("export", MFD_CLOEXEC);
	must(fd >= 0, "a file in memory");
	plan = (struct export_plan){.provider_key = source("k"),
	    .business_key = source("o"),
	    .time = source("t"),
	    .fields = {{.name = "s", .source = "s", .is_amount = true}},
	    .n_fields = 1,
	    .ns = "default",
	    .tool = "refund"};
	return 0;
}

static void
write_text(const char *head, const uint8_t *data, size_t len, const char *tail)
{
	must(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0, "an empty file");
	must(write(fd, head, strlen(head)) == (ssize_t)strlen(head) &&
		write(fd, data, len) == (ssize_t)len && write(fd, "\n", 1) == 1 &&
		write(fd, tail, strlen(tail)) == (ssize_t)strlen(tail),
	    "the file is written");
	lseek(fd, 0, SEEK_SET);
}

static void
check_row(const struct export_row *row)
{
	char spelling[DECIMAL_BYTES];
	const char *amount = row->values[0];

	must(
	    row->reference && json_utf8(row->reference, strlen(row->reference)), "a text is UTF-8");
	must(!amount ||
		(decimal_spell(amount, strlen(amount), 0, spelling) && !strcmp(amount, spelling)),
	    "an amount is spelt in the one way");
	must(row->has_time, "a row has a time");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	bool csv = len > 0 && data[0] & 1, last = false;
	struct export_row row;
	struct export *export;
	enum export_news news;
	uint64_t line = 0, n_lines = 2 + csv;
	char *why = NULL;

	if (len == 0)
		return 0;
	plan.format = csv ? EXPORT_CSV : EXPORT_JSONL;
	plan.delimiter = ',';
	plan.utc = data[0] & 2;
	plan.minor_units = data[0] >> 4;
	for (size_t i = 1; i < len; i++)
		n_lines += data[i] == '\n';
	write_text(csv ? HEAD : "", data + 1, len - 1, csv ? LAST : LAST_JSON);
	in = (struct intake){.fd = fd};
	export = export_open(&plan, &in, &why);
	must(
	    export || (!csv && why), "an export with a header can be opened"); /* UTF-16 in front */
	free(why);
	if (!export)
		return 0;
	while ((news = export_next(export, &row)) != EXPORT_END && news != EXPORT_LOST) {
		must(row.line > line && row.line <= n_lines, "lines go on");
		line = row.line;
		must(news != EXPORT_BAD || (row.why && *row.why), "a bad row has a reason");
		last = news == EXPORT_ROW && !strcmp(row.reference, "last");
		if (news == EXPORT_ROW)
			check_row(&row);
	}
	must(in.err == 0, "all could be read");
	must(news == EXPORT_LOST || last, "a good row is read, whatever stands before it");
	must(news != EXPORT_LOST || csv, "only a quote can be left open");
	export_close(export);
	return 0;
}
