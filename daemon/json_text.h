/*
 * JSON as text, below the level of documents: strings between their quotes, escapes, UTF-8, number
 * literals. Pure, without memory of its own. Used by json.c and canon.c; all others use json.h.
 */
#ifndef EFFECTD_JSON_TEXT_H
#define EFFECTD_JSON_TEXT_H

#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the valid UTF-8 character at p, 1 to 4; 0 if there is none. p < end. */
size_t json_text_char(const char *p, const char *end);
bool json_text_utf8(const char *text, size_t len);
/* UTF-8 of code point cp to out; a surrogate comes out as the three bytes its number gives. */
size_t json_text_encode(uint32_t cp, char out[4]);

/*
 * The end of the string whose opening quote stands before p: behind its closing quote. NULL if the
 * grammar is hurt, *ret_at then says where. *ret_fault is the first fault in it (at *ret_at), or
 * JSON_OK.
 */
const char *json_text_string(
    const char *p, const char *end, enum json_fault *ret_fault, const char **ret_at);
/*
 * Takes one character off *p, escapes resolved, to out: its UTF-8 bytes; three bytes for a lone
 * surrogate, the bare byte where the UTF-8 is invalid. The text has passed json_text_string().
 */
size_t json_text_next(const char **p, const char *end, char out[4]);
/* Unescapes text[0, len) to out, which has room for len bytes; returns how many it took. */
size_t json_text_unescape(const char *text, size_t len, char *out);

/* The text between the quotes of the span [start, end). */
struct json_ref json_text_ref(const char *text, uint32_t start, uint32_t end, uint32_t node);
/* Order by UTF-16 code units of what the names spell; 0 = the same name. */
int json_text_cmp(const struct json_ref *a, const struct json_ref *b);
bool json_text_equal(const struct json_ref *a, const struct json_ref *b);
/* Does a pointer's reference token (without its slash) spell that name? */
bool json_text_is_token(const struct json_ref *name, const char *token, size_t len);
/* Appends name p..end as one token more; false if the pointer is full and has to end here. */
bool json_text_add_token(
    char pointer[JSON_POINTER_BYTES], size_t *len, const char *p, const char *end);
bool json_text_is_pointer(const char *text, size_t len);
/* An array index by RFC 6901: digits without a leading zero. */
bool json_text_index(const char *token, size_t len, uint32_t *ret_index);

/* The end of the number literal at p, NULL if there is none by the grammar. */
const char *json_text_number(const char *p, const char *end);

/* A number literal without fraction and exponent, within int64? */
bool json_text_int(const char *text, size_t len, int64_t *ret_value);

#define JSON_DECIMAL_DIGITS 20

/* A literal's exact value: 0.DIGITS * 10^point, without zeros at either end of DIGITS. */
struct json_decimal {
	bool negative;
	bool integer;			  /* the literal has neither fraction nor exponent */
	size_t n_digits;		  /* 0 = the value is zero */
	int64_t point;			  /* saturates near +-10^15, where no double is */
	char digits[JSON_DECIMAL_DIGITS]; /* the first of them */
};
struct json_decimal json_text_decimal(const char *text, size_t len);
/* As json_double(). */
double json_text_double(const char *text, size_t len);
bool json_text_overflows(const char *text, size_t len);

#endif
