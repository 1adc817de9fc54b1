/*
 * Rows for spreadsheets and programs. Promise: csv.h's, for names and cells alike. Owns nothing.
 */
#include "report_csv.h"

#include "csv.h"

#include <stdlib.h>

static void
add_cell(struct csv *csv, const struct report *report, uint32_t node)
{
	const char *raw = "";
	size_t len = 0;
	char *text;

	if (node && report->answer.doc.nodes[node].type == JSON_STRING) {
		text = json_string(&report->answer.doc, node, &len);
		csv_cell_n(csv, text, len);
		free(text);
		return;
	}
	if (node)
		raw = ask_raw(&report->answer, node, &len);
	csv_cell_n(csv, raw, len);
}

void
report_csv(struct buf *out, const struct report *report)
{
	struct csv csv = {0};

	for (size_t i = 0; i < report->n_columns; i++)
		csv_cell(&csv, report->columns[i].name);
	csv_end(&csv);
	for (size_t row = 0; row < report->n_rows; row++) {
		for (size_t i = 0; i < report->n_columns; i++)
			add_cell(&csv, report, report_cell(report, row, i));
		csv_end(&csv);
	}
	buf_add(out, csv.out.data, csv.out.len);
	buf_free(&csv.out);
}
