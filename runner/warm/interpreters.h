/* What the library does for single interpreters while they wait, before they make copies. Each
 * function has no effect on other interpreters. */
#ifndef DEEMSTER_WARM_INTERPRETERS_H
#define DEEMSTER_WARM_INTERPRETERS_H

#include <stdbool.h>
#include <stdio.h>

/* Where copies find the bytecode of their program, in /code; programs see it. */
#define BYTECODE_NAME ".bytecode"

/* Whether CPython, which opens its program, will open it again before it reads it. */
bool python_opens_again(const char *path, bool as_stream);

/* In a copy of CPython: finds the bytecode of its program, and opens it instead of the program. The
 * second returns NULL if the copy reads the program itself. */
int find_python_bytecode(void);
FILE *open_python_bytecode(void);

/* Copies of CPython import some modules without reading their files. */
void import_python_modules(void);

/* Copies of CPython end sooner. */
void shorten_end_of_python(void);

#endif
