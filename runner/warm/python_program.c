/* Lets a copy of CPython run its program from bytecode, as the compile step left it.
 *
 * CPython opens the file of its program three times: to see whether it is an archive, to see whether
 * it is bytecode, and to read it. The file is empty while the interpreter starts (src/warm.c). This
 * writes the mark of bytecode into it, so that the interpreter waits as late as possible: where it
 * reads bytecode. A copy reads the file BYTECODE there.
 *
 * Nothing else tells programs that they come from bytecode: their file names, lines and sources are
 * the same, and this replaces the loader of `__main__`. The compile step leaves no bytecode for
 * programs for which it would make a difference (languages/python3.toml). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interpreters.h"
#include "python.h"

#define BYTECODE     "/code/" BYTECODE_NAME
#define HEADER_BYTES 16

static struct program {
    enum { NOT_ASKED, FROM_SOURCE, FROM_BYTECODE } kind;
    int opened;     /* as a stream, so often */
    int descriptor; /* a copy's, of the bytecode */
    FILE *stream;   /* the same, until it is closed */
    struct python python;
    struct object *names; /* of __main__ */
    struct object *loader;
} program = {.descriptor = -1};

/* ---- while the interpreter starts ---- */

static bool write_mark(const char *path)
{
    const long magic = program.python.PyImport_GetMagicNumber();
    unsigned char header[HEADER_BYTES] = {(unsigned char)magic, (unsigned char)(magic >> 8),
                                          (unsigned char)(magic >> 16),
                                          (unsigned char)(magic >> 24)};
    const int fd =
        openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC); /* open() asks whether to wait */
    if (fd < 0)
        return false;
    const bool written = write(fd, header, sizeof header) == sizeof header;
    close(fd);
    return written;
}

/* Makes the loader that `__main__` has if the interpreter reads the source. */
static bool make_loader(const char *path)
{
    const struct python *python = &program.python;
    struct object *modules = python->PyImport_GetModuleDict();
    struct object *external =
        python->PyDict_GetItemString(modules, "_frozen_importlib_external");
    struct object *main = python->PyDict_GetItemString(modules, "__main__");
    struct object *type =
        external ? python->PyObject_GetAttrString(external, "SourceFileLoader") : NULL;
    struct object *arguments = type ? python->Py_BuildValue("(ss)", "__main__", path) : NULL;
    program.loader = arguments ? python->PyObject_CallObject(type, arguments) : NULL;
    program.names = main ? python->PyModule_GetDict(main) : NULL;
    if (arguments)
        python->Py_DecRef(arguments);
    if (type)
        python->Py_DecRef(type);
    python->PyErr_Clear();
    return program.loader && program.names;
}

static bool can_be_bytecode(const char *path)
{
    const struct python *python = &program.python;
    if (!find_python(&program.python) || !python->Py_IsInitialized())
        return false;
    const int state = python->PyGILState_Ensure();
    const bool ready = make_loader(path) && write_mark(path);
    python->PyGILState_Release(state);
    return ready;
}

bool python_opens_again(const char *path, bool as_stream)
{
    if (program.kind == NOT_ASKED)
        program.kind = can_be_bytecode(path) ? FROM_BYTECODE : FROM_SOURCE;
    if (program.kind == FROM_SOURCE)
        return false;
    program.opened += as_stream;
    return program.opened < 2;
}

/* ---- in a copy ---- */

int find_python_bytecode(void)
{
    if (program.kind != FROM_BYTECODE)
        return 0;
    program.descriptor = open(BYTECODE, O_RDONLY | O_CLOEXEC);
    return program.descriptor < 0 ? -1 : 0;
}

FILE *open_python_bytecode(void)
{
    if (program.descriptor < 0)
        return NULL;
    program.stream = fdopen(program.descriptor, "rb");
    program.descriptor = -1;
    return program.stream;
}

/* The interpreter closes the bytecode right before it runs it. */
__attribute__((visibility("default"))) int fclose(FILE *stream)
{
    static int (*found)(FILE *);
    const bool is_program = stream && stream == program.stream;
    if (!found)
        *(void **)&found = dlsym(RTLD_NEXT, "fclose");
    const int result = found(stream);
    if (is_program) {
        program.stream = NULL;
        if (program.python.PyDict_SetItemString(program.names, "__loader__", program.loader))
            program.python.PyErr_Clear();
    }
    return result;
}
