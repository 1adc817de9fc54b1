/*
 * MIME. Promise: nothing that is put into a mail ends a header, starts another one or ends the
 * message: addresses are judged, the subject is cleaned, bodies are quoted-printable. Owns nothing
 * beyond a call.
 */
#include "mail.h"

#include "alloc.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define ADDRESS_BYTES_MAX 254
#define LINE_MAX 76
#define RANDOM_BYTES 12

static bool
is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Words of letters, digits and `marks`, joined by single dots. */
static bool
is_dotted(const char *text, size_t len, const char *marks)
{
	bool dot = true;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '.') {
			if (dot)
				return false;
			dot = true;
		} else if (is_alnum(text[i]) || strchr(marks, text[i])) {
			dot = false;
		} else {
			return false;
		}
	}
	return !dot;
}

bool
mail_address(const char *text)
{
	const char *at = strchr(text, '@');
	size_t len = strlen(text), n_local = at ? (size_t)(at - text) : len;

	/* a hyphen in front would be a flag to whoever takes it as a word */
	return len <= ADDRESS_BYTES_MAX && text[0] != '-' &&
	    is_dotted(text, n_local, "!#$%&'*+-/=?^_`{|}~") &&
	    (!at || (is_alnum(at[1]) && is_dotted(at + 1, len - n_local - 1, "-")));
}

/* text[0, len) as quoted-printable, so that no line is longer than 76, starts with a dot or `From
 * `, or ends in a blank. */
static void
add_quoted(struct buf *out, const char *text, size_t len)
{
	size_t column = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		bool end = i + 1 == len || text[i + 1] == '\n', plain;

		if (c == '\n') {
			buf_add_char(out, '\n');
			column = 0;
			continue;
		}
		plain = c >= 0x20 && c < 0x7f && c != '=' && !(c == ' ' && end);
		/* a soft line break wants a place for its mark */
		if (column + (plain ? 1 : 3) > LINE_MAX - (end ? 0 : 1)) {
			buf_add_str(out, "=\n");
			column = 0;
		}
		if (column == 0 &&
		    (c == '.' || !strncmp(text + i, "From ", len - i < 5 ? len - i : 5)))
			plain = false;
		if (plain)
			buf_add_char(out, (char)c);
		else
			buf_printf(out, "=%02X", c);
		column += plain ? 1 : 3;
	}
}

static void
add_date(struct buf *out, int64_t date_s)
{
	static const char days[] = "SunMonTueWedThuFriSat",
			  months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t s = (time_t)date_s;
	struct tm tm = {0};

	gmtime_r(&s, &tm);
	buf_printf(out, "Date: %.3s, %02d %.3s %04d %02d:%02d:%02d +0000\n",
	    days + (ptrdiff_t)tm.tm_wday * 3, tm.tm_mday, months + (ptrdiff_t)tm.tm_mon * 3,
	    tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* Fresh for each message; it only has to be unlike all others. */
static void
make_word(char ret[2 * RANDOM_BYTES + 1])
{
	unsigned char bytes[RANDOM_BYTES];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		alloc_out_of_memory();
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static void
add_subject(struct buf *out, const char *subject)
{
	buf_add_str(out, "Subject: ");
	for (; *subject; subject++)
		buf_add_char(out, *subject >= 0x20 && *subject < 0x7f ? *subject : '?');
	buf_add_char(out, '\n');
}

static void
add_part(struct buf *out, const char *boundary, const char *type, const struct buf *body)
{
	/* the line break before a boundary is the boundary's */
	buf_printf(out,
	    "\n--=_%s\nContent-Type: %s; charset=utf-8\nContent-Transfer-Encoding: "
	    "quoted-printable\n\n",
	    boundary, type);
	add_quoted(out, body->data, body->len);
}

void
mail_add(struct buf *out, const struct mail *mail)
{
	char word[2 * RANDOM_BYTES + 1];

	assert(mail_address(mail->to) && mail_address(mail->from));
	make_word(word);
	buf_printf(out, "From: effectd <%s>\nTo: %s\n", mail->from, mail->to);
	add_subject(out, mail->subject);
	add_date(out, mail->date_s);
	buf_printf(out, "Message-ID: <%lld.%s@%s>\n", (long long)mail->date_s, word,
	    is_dotted(mail->host, strlen(mail->host), "-") ? mail->host : "localhost");
	buf_printf(out,
	    "Auto-Submitted: auto-generated\nMIME-Version: 1.0\nContent-Type: "
	    "multipart/alternative;\n boundary=\"=_%s\"\n",
	    word);
	add_part(out, word, "text/plain", mail->text);
	add_part(out, word, "text/html", mail->html);
	buf_printf(out, "\n--=_%s--\n", word);
}
