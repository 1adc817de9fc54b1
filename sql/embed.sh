#!/bin/sh
# Writes schema_files.c to stdout: the SQL of the schema as C strings, in the order given.
# usage: embed.sh SRCDIR SECTION FILE... -- SECTION FILE... ; a missing file fails the build.
set -eu

srcdir=$1
shift

printf '/* Made by sql/embed.sh from the files in sql/; change those. */\n#include "schema_files.h"\n\n#include <stddef.h>\n'
while [ $# -gt 0 ]; do
	section=$1
	shift
	n=0
	printf '\nconst struct schema_file schema_%s[] = {\n' "$section"
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		name=${1#sql/}
		printf '\t{"%s",\n' "$name"
		# one literal a line: quotes and backslashes escaped, trigraphs cannot occur in -std=c11 strings with \?
		sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/	/\\t/g' -e 's/^/\t "/' -e 's/$/\\n"/' "$srcdir/$1"
		printf '\t},\n'
		n=$((n + 1))
		shift
	done
	[ $# -eq 0 ] || shift
	printf '\t{NULL, NULL},\n};\nconst size_t schema_n_%s = %d;\n' "$section" "$n"
done
