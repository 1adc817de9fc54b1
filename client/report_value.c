/*
 * Numbers with units. Promise: what is not of the shape that its column's name says comes out as it
 * is, never as something else. Escaping does not belong here: table, CSV and page have rules of
 * their own. Owns no memory.
 */
#include "report_value.h"

#include "bars.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One digit behind the point below ten, none above; 3, not 3.0. */
static void
add_short(struct buf *out, double value, const char *unit)
{
	char digits[400]; /* any double */
	size_t len;

	snprintf(digits, sizeof digits, fabs(value) < 9.95 ? "%.1f" : "%.0f", value);
	len = strlen(digits);
	if (len > 2 && !strcmp(digits + len - 2, ".0"))
		digits[len - 2] = '\0';
	buf_printf(out, "%s %s", digits, unit);
}

/* The largest unit of which there is at least `least`. */
static void
add_scaled(struct buf *out, double value, const char *const *units, const double *sizes, size_t n,
    double least)
{
	size_t i = 0;

	while (i + 1 < n && fabs(value) >= sizes[i + 1] * least)
		i++;
	if (i == 0)
		buf_printf(out, "%.0f %s", value, units[0]);
	else
		add_short(out, value / sizes[i], units[i]);
}

void
report_value_ms(struct buf *out, double ms)
{
	static const char *const units[] = {"ms", "s", "min", "h", "d"};
	static const double sizes[] = {1, 1000, 60000, 3600000, 86400000};

	/* 40 h says more than 1.7 d */
	if (fabs(ms) >= 2 * sizes[3] && fabs(ms) < 2 * sizes[4])
		add_short(out, ms / sizes[3], units[3]);
	else
		add_scaled(out, ms, units, sizes, 5, 1);
}

static void
add_bytes(struct buf *out, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	static const double sizes[] = {1, 1024.0, 1048576.0, 1073741824.0, 1099511627776.0};

	add_scaled(out, bytes, units, sizes, 5, 1);
}

static void
add_rate(struct buf *out, double rate)
{
	double percent = rate * 100;

	if (percent > 0 && percent < 0.1)
		buf_add_str(out, "<0.1 %");
	else if (percent > 99.9 && percent < 100)
		buf_add_str(out, ">99.9 %");
	else
		buf_printf(out, "%.1f %%", percent);
}

void
report_value_int(struct buf *out, int64_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof digits, "%lld", (long long)n);

	for (int i = 0; i < len; i++) {
		buf_add_char(out, digits[i]);
		if (digits[i] != '-' && (len - i - 1) % 3 == 0 && i + 1 < len)
			buf_add_char(out, ',');
	}
}

void
report_value_at(struct buf *out, const char *instant)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";
	size_t i;

	for (i = 0; shape[i]; i++)
		if (shape[i] == 'd' ? instant[i] < '0' || instant[i] > '9' : instant[i] != shape[i])
			break;
	if (shape[i]) {
		buf_add_str(out, instant);
		return;
	}
	buf_add(out, instant, 10);
	buf_add_char(out, ' ');
	buf_add(out, instant + 11, 8);
	buf_add_char(out, 'Z');
}

/* A number that counts nothing is told digit by digit. */
static bool
is_name(const char *column)
{
	static const char *const names[] = {"policy", "version", "pid", "uid"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(column, names[i]))
			return true;
	return false;
}

static void
add_number(
    struct buf *out, const struct report *report, const struct report_column *column, uint32_t node)
{
	const char *raw;
	int64_t whole;
	double value;
	size_t len;

	raw = ask_raw(&report->answer, node, &len);
	value = json_double(raw, len);
	if (column->unit == REPORT_MS && isfinite(value))
		report_value_ms(out, value);
	else if (column->unit == REPORT_RATE && isfinite(value))
		add_rate(out, value);
	else if (column->unit == REPORT_BYTES && isfinite(value))
		add_bytes(out, value);
	else if (!is_name(column->name) && json_int(&report->answer.doc, node, &whole))
		report_value_int(out, whole);
	else
		buf_add(out, raw, len);
}

/* A value whose unit is a cell of its own row. */
static void
add_by_unit(struct buf *out, double value, const char *unit)
{
	if (!strcmp(unit, "bytes"))
		add_bytes(out, value);
	else if (!strcmp(unit, "share"))
		add_rate(out, value);
	else if (!strcmp(unit, "s"))
		report_value_ms(out, value * 1000);
	else if (fabs(value) < 1e15) {
		report_value_int(out, (int64_t)(value < 0 ? value - 0.5 : value + 0.5));
		buf_printf(out, " %s", unit);
	} else
		buf_printf(out, "%g %s", value, unit);
}

void
report_value_bars(struct buf *out, const struct report *report, size_t row, size_t first,
    size_t last, bool blocks)
{
	double values[REPORT_COLUMNS_MAX];
	size_t n = 0;

	for (size_t i = first; i <= last; i++, n++)
		if (!report_number(report, row, report->columns[i].name, &values[n]))
			values[n] = 0;
	bars_add(out, values, n, blocks);
}

void
report_value(struct buf *out, const struct report *report, size_t row, size_t column)
{
	const struct report_column *c = &report->columns[column];
	uint32_t node = report_cell(report, row, column);
	const char *raw;
	char *text;
	size_t len;
	double n;

	if (!node) {
		if (c->unit == REPORT_RATE) {
			buf_add_char(out, '-');
			if (report_number(report, row, "n", &n) && !strstr(c->name, "_before"))
				buf_printf(out, " (n %.0f)", n);
		}
		return;
	}
	switch (report->answer.doc.nodes[node].type) {
	case JSON_NUMBER:
		if (!strcmp(c->name, "value") && report_number(report, row, c->name, &n) &&
		    (text = report_text(report, row, "unit"))) {
			add_by_unit(out, n, text);
			free(text);
			return;
		}
		add_number(out, report, c, node);
		return;
	case JSON_STRING:
		text = report_string(report, node);
		if (c->unit == REPORT_AT)
			report_value_at(out, text);
		else
			buf_add_str(out, text);
		free(text);
		return;
	case JSON_TRUE:
		buf_add_str(out, "yes");
		return;
	case JSON_FALSE:
		buf_add_str(out, "no");
		return;
	default:
		break;
	}
	raw = ask_raw(&report->answer, node, &len);
	buf_add(out, raw, len);
}

bool
report_value_right(const struct report *report, size_t column)
{
	enum report_unit unit = report->columns[column].unit;
	uint32_t node;

	if (unit == REPORT_MS || unit == REPORT_RATE || unit == REPORT_BYTES)
		return true;
	for (size_t row = 0; row < report->n_rows; row++)
		if ((node = report_cell(report, row, column)))
			return report->answer.doc.nodes[node].type == JSON_NUMBER;
	return false;
}
