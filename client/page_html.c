/*
 * HTML for mail. Promise: no text of the page becomes markup, turns its neighbours around or is
 * invisible; it reads at 600 pixels and on a phone, on paper and without colours. Mail clients drop
 * style sheets, scripts and outer resources, so that everything here is inline. Owns nothing.
 */
#include "page_html.h"

#include "command.h"
#include "show.h"

#include <string.h>

#define FONT "font-family:-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
#define MONO "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace;"
#define INK "#1c2430"
#define MUTED "#5b6674"
#define RULE "#e3e7ec"
#define BAR "#3b76c4"
#define NUMBER_BYTES_MAX 12 /* what is longer in a column of numbers is none, and breaks */
#define BREAK "overflow-wrap:anywhere;word-break:break-word;"

/* Background, line and ink of a tone; each pair of ink and background has a contrast above 7:1. */
static const struct {
	const char *back, *edge, *ink;
} tones[] = {
    [PAGE_PLAIN] = {"#ffffff", RULE, INK},
    [PAGE_GOOD] = {"#e8f5ec", "#2e8b57", "#12492b"},
    [PAGE_ADVICE] = {"#eef4fc", "#3b76c4", "#1d3f6e"},
    [PAGE_WARNING] = {"#fff6e5", "#d98a00", "#5c3a00"},
    [PAGE_FAULT] = {"#fdecec", "#c5352b", "#6e1712"},
    [PAGE_MUTED] = {"#ffffff", RULE, MUTED},
};

/* text[0, len) for an element or an attribute in double quotes: markup as entities, what is not
 * seen as the escapes of show_utf8(). */
static void
add_text(struct buf *out, const char *text, size_t len)
{
	struct buf safe = {0};

	show_utf8(&safe, text, len);
	for (size_t i = 0; i < safe.len; i++) {
		switch (safe.data[i]) {
		case '&':
			buf_add_str(out, "&amp;");
			break;
		case '<':
			buf_add_str(out, "&lt;");
			break;
		case '>':
			buf_add_str(out, "&gt;");
			break;
		case '"':
			buf_add_str(out, "&quot;");
			break;
		case '\'':
			buf_add_str(out, "&#39;");
			break;
		default:
			buf_add_char(out, safe.data[i]);
		}
	}
	buf_free(&safe);
}

static void
add(struct buf *out, const char *text)
{
	if (text)
		add_text(out, text, strlen(text));
}

/* A stranger's text: <bdi> keeps letters that run to the left from turning what stands beside it.
 */
static void
add_foreign(struct buf *out, const char *style, const char *text)
{
	if (!text || !*text)
		return;
	if (*style)
		buf_printf(out, "<bdi style=\"%s\">", style);
	else
		buf_add_str(out, "<bdi>");
	add(out, text);
	buf_add_str(out, "</bdi>");
}

/* The same in a narrow place: names break behind an underscore first. */
static void
add_narrow(struct buf *out, const char *text)
{
	size_t len;

	if (!text || !*text)
		return;
	buf_add_str(out, "<bdi>");
	for (; *text; text += len) {
		len = strcspn(text, "_");
		len += text[len] == '_';
		add_text(out, text, len);
		if (len > 0 && text[len - 1] == '_')
			buf_add_str(out, "<wbr>");
	}
	buf_add_str(out, "</bdi>");
}

/* command_add() has made it one line of ASCII and plain UTF-8; markup in it is left to do. */
static void
add_command(struct buf *out, const char *line)
{
	struct buf command = {0};

	command_add(&command, line);
	buf_add_str(out,
	    "<div style=\"" MONO "font-size:12px;line-height:1.5;background:#ffffff;border:1px "
	    "solid #d5dae1;border-radius:4px;padding:3px 8px;margin-top:4px;\" dir=\"ltr\">");
	for (size_t i = 0; i < command.len; i++) {
		if (strchr("&<>\"'", command.data[i]))
			buf_printf(out, "&#%d;", command.data[i]);
		else
			buf_add_char(out, command.data[i]);
	}
	buf_add_str(out, "</div>");
	buf_free(&command);
}

static void
add_head(struct buf *out, const struct page *page)
{
	char first;

	buf_printf(out,
	    "<tr><td style=\"padding:20px 16px 16px;background:%s;border-top:4px solid "
	    "%s;\"><div style=\"font-size:13px;color:%s;\">",
	    tones[page->tone].back, tones[page->tone].edge, MUTED);
	add(out, page->title);
	buf_printf(out,
	    "</div><h1 style=\"margin:2px 0 6px;font-size:24px;line-height:1.25;font-weight:700;"
	    "color:%s;\">",
	    tones[page->tone].ink);
	first = (char)(page->headline[0] - (page->headline[0] >= 'a' ? 'a' - 'A' : 0));
	add_text(out, &first, 1);
	add(out, page->headline + 1);
	buf_printf(out, "</h1><div style=\"font-size:13px;color:%s;\">", MUTED);
	add(out, page->window);
	buf_add_str(out, "</div></td></tr>\n");
}

static void
add_section(struct buf *out, const struct page_block *b)
{
	if (b->tone == PAGE_MUTED) {
		buf_add_str(out,
		    "<tr><td style=\"padding:14px 16px 0;font-size:13px;color:" MUTED
		    ";\"><h2 style=\"display:inline;margin:0;font-size:16px;color:" INK ";\">");
		add(out, b->text);
		buf_add_str(out, "</h2> ");
		add(out, b->more);
		buf_add_str(out, "</td></tr>\n");
		return;
	}
	buf_add_str(out,
	    "<tr><td style=\"padding:22px 16px 4px;\"><h2 style=\"margin:0;padding-bottom:4px;"
	    "border-bottom:2px solid " RULE ";font-size:16px;line-height:1.3;color:" INK ";\">");
	add(out, b->text);
	if (b->more) {
		buf_add_str(
		    out, " <span style=\"font-weight:400;font-size:13px;color:" MUTED ";\">");
		add(out, b->more);
		buf_add_str(out, "</span>");
	}
	buf_add_str(out, "</h2></td></tr>\n");
}

static void
add_line(struct buf *out, const struct page_block *b)
{
	buf_printf(out,
	    "<tr><td style=\"padding:4px 16px;font-size:13px;line-height:1.45;color:%s;\"><bdi>",
	    tones[b->tone].ink);
	add(out, b->text);
	buf_add_str(out, "</bdi></td></tr>\n");
}

/* Findings of one kind stand in one box. */
static void
add_finding(struct buf *out, const struct page_block *b)
{
	buf_printf(out,
	    "<tr><td style=\"padding:%s 16px 0;\"><div style=\"border-left:5px solid "
	    "%s;background:%s;padding:8px 10px;font-size:14px;line-height:1.45;\">",
	    b->more ? "10px" : "0", tones[b->tone].edge, tones[b->tone].back);
	if (b->more) {
		buf_printf(out,
		    "<div style=\"font-size:12px;font-weight:700;color:%s;padding-bottom:4px;\">",
		    tones[b->tone].ink);
		add(out, b->more);
		buf_add_str(out, "</div>");
	}
	add_foreign(out, "font-weight:700;", b->whose);
	if (b->key) {
		buf_add_char(out, ' ');
		add_foreign(out, MONO "font-size:12px;", b->key);
	}
	buf_add_str(out, b->whose || b->key ? "<br>" : "");
	add_foreign(out, "", b->text);
	if (b->command)
		add_command(out, b->command);
	buf_add_str(out, "</div></td></tr>\n");
}

static void
add_item(struct buf *out, const struct page_block *b)
{
	buf_add_str(out,
	    "<tr><td style=\"padding:0 16px;\"><div style=\"padding:7px 0;border-bottom:1px "
	    "solid " RULE ";font-size:14px;line-height:1.45;color:" INK ";\">");
	add_foreign(out, "font-weight:600;", b->whose);
	if (b->key) {
		buf_add_char(out, ' ');
		add_foreign(out, MONO "font-size:12px;", b->key);
	}
	buf_add_str(out, "<div style=\"font-size:13px;color:" MUTED ";\">");
	add_foreign(out, "", b->text);
	if (b->more) {
		buf_add_str(out, "<br>");
		add_foreign(out, MONO "font-size:11px;", b->more);
	}
	buf_add_str(out, "</div></div></td></tr>\n");
}

/* A bar of `share` of the cell; what there is of it at all is seen. */
static void
add_bar(struct buf *out, double share)
{
	double percent = share > 1 ? 100 : share * 100;

	if (percent > 0 && percent < 2)
		percent = 2;
	buf_printf(out,
	    "<div style=\"height:4px;min-width:40px;background:" RULE ";margin-top:3px;\"><div "
	    "style=\"height:4px;width:%.0f%%;background:" BAR ";font-size:0;\"></div></div>",
	    percent);
}

static void
add_bars(struct buf *out, const struct page_cell *cell)
{
	double highest = 0, height;

	for (size_t i = 0; i < cell->n_bars; i++)
		highest = cell->bars[i] > highest ? cell->bars[i] : highest;
	buf_add_str(out, "<span style=\"white-space:nowrap;\">");
	for (size_t i = 0; i < cell->n_bars; i++) {
		height = highest > 0 ? cell->bars[i] / highest * 20 : 0;
		buf_printf(out,
		    "<span style=\"display:inline-block;width:7px;height:%.0fpx;background:%s;"
		    "margin-right:1px;vertical-align:bottom;\"></span>",
		    height < 1 ? 1 : height, cell->bars[i] > 0 ? BAR : "#c4ccd6");
	}
	buf_add_str(out, "</span>");
}

static void
add_cell(struct buf *out, const struct page_column *column, const struct page_cell *cell)
{
	buf_printf(out,
	    "<td style=\"padding:5px 4px;border-bottom:1px solid " RULE
	    ";vertical-align:top;text-align:%s;color:%s;%s%s\">",
	    column->right ? "right" : "left", tones[cell->tone].ink,
	    cell->tone == PAGE_WARNING || cell->tone == PAGE_FAULT ? "font-weight:700;" : "",
	    column->right && cell->text && strlen(cell->text) <= NUMBER_BYTES_MAX
		? "white-space:nowrap;"
		: "");
	if (cell->n_bars > 0)
		add_bars(out, cell);
	else
		add_narrow(out, cell->text);
	if (cell->share >= 0)
		add_bar(out, cell->share);
	if (cell->under && *cell->under) {
		buf_add_str(out, "<div style=\"font-size:11px;font-weight:400;color:" MUTED ";\">");
		add_foreign(out, "", cell->under);
		buf_add_str(out, "</div>");
	}
	buf_add_str(out, "</td>");
}

static void
add_table(struct buf *out, const struct page_block *b)
{
	buf_add_str(out,
	    "<tr><td style=\"padding:2px 16px;\"><table width=\"100%\" cellpadding=\"0\" "
	    "cellspacing=\"0\" "
	    "style=\"border-collapse:collapse;table-layout:fixed;width:100%;font-size:13px;"
	    "line-height:1.35;\"><tr>");
	for (size_t i = 0; i < b->n_columns; i++) {
		buf_printf(out,
		    "<th style=\"padding:5px 4px;border-bottom:1px solid " RULE
		    ";vertical-align:bottom;text-align:%s;font-size:11px;font-weight:600;color:%s;"
		    "overflow-wrap:normal;word-break:normal;%s\">",
		    b->columns[i].right ? "right" : "left", MUTED, i == 0 ? "width:34%;" : "");
		add(out, b->columns[i].name);
		if (b->columns[i].under) {
			buf_add_str(out, "<div style=\"font-weight:400;\">");
			add(out, b->columns[i].under);
			buf_add_str(out, "</div>");
		}
		buf_add_str(out, "</th>");
	}
	buf_add_str(out, "</tr>\n");
	for (size_t row = 0; row < b->n_rows; row++) {
		buf_add_str(out, "<tr>");
		for (size_t i = 0; i < b->n_columns; i++)
			add_cell(out, &b->columns[i], &b->cells[row * b->n_columns + i]);
		buf_add_str(out, "</tr>\n");
	}
	buf_add_str(out, "</table></td></tr>\n");
}

void
page_html(struct buf *out, const struct page *page)
{
	static void (*const adds[])(struct buf *, const struct page_block *) = {
	    [PAGE_SECTION] = add_section,
	    [PAGE_LINE] = add_line,
	    [PAGE_FINDING] = add_finding,
	    [PAGE_ITEM] = add_item,
	    [PAGE_TABLE] = add_table};

	buf_add_str(out,
	    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
	    "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta "
	    "name=\"color-scheme\" content=\"light\"><title>");
	add(out, page->title);
	buf_add_str(out, ": ");
	add(out, page->headline);
	buf_add_str(out,
	    "</title></head>\n<body style=\"margin:0;padding:0;background:#eef1f4;color:" INK
	    ";" FONT "\">\n<table width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" "
	    "style=\"border-collapse:collapse;background:#eef1f4;\"><tr><td align=\"center\" "
	    "style=\"padding:0;\">\n<table width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" "
	    "style=\"border-collapse:collapse;width:100%;max-width:680px;background:#ffffff;"
	    "text-align:left;" FONT BREAK "\">\n");
	add_head(out, page);
	for (size_t i = 0; i < page->n_blocks; i++)
		adds[page->blocks[i].kind](out, &page->blocks[i]);
	buf_add_str(out,
	    "<tr><td style=\"padding:16px;font-size:12px;color:" MUTED
	    ";\">Made by effectctl report daily. Instants are in UTC.</td></tr>\n"
	    "</table>\n</td></tr></table>\n</body></html>\n");
}
