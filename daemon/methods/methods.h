/*
 * What the method table calls: one function a method, in the file of its name, made from
 * methods.def.
 */
#ifndef EFFECTD_METHODS_H
#define EFFECTD_METHODS_H

#include "request.h"

#define METHOD(name, suffix, roles) void suffix##_call(struct request *r);
#include "methods.def"
#undef METHOD

#endif
