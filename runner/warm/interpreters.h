/* What the library does for single interpreters while they wait, before they make copies. Each
 * function has no effect on other interpreters. */
#ifndef DEEMSTER_WARM_INTERPRETERS_H
#define DEEMSTER_WARM_INTERPRETERS_H

/* Copies of CPython import some modules without reading their files. */
void import_python_modules(void);

/* Copies of CPython end sooner. */
void shorten_end_of_python(void);

#endif
