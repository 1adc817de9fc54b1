/* The kinds of effect.h: their names, their texts, and the wire's codes. Pure. */
#ifndef EFFECT_KIND_H
#define EFFECT_KIND_H

#include "effect.h"

/* The kind of an error's code; EFFECT_WIRE_ERROR if it is none that we know. */
enum effect_kind effect_kind_of_code(int64_t code);
/* The kind of a decision but `run` and `replay`; EFFECT_STRANGE if it is none that we know. */
enum effect_kind effect_kind_of_decision(const char *decision, size_t len);
/* Nothing was told and the same line may be sent again: unavailable, internal, overloaded. */
bool effect_kind_again(enum effect_kind kind);

#endif
