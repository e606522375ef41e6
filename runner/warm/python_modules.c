/* Imports the modules that most contest programs import before the program does.
 *
 * To import `collections` and `functools` takes three times as long as a copy of the interpreter. The
 * interpreter that waits imports them, remembers which module imports which others, and removes all
 * of them from sys.modules again. A program that imports one of them gets it by find_and_load():
 * sys.modules then has the same entries in the same order as if the files had been read.
 *
 * A program gets its modules from the files if it has changed how they are imported (sys.path,
 * sys.meta_path, sys.path_hooks, __import__, entries of sys.modules) or has several files, which may
 * have such a name. */
#define _GNU_SOURCE
#include <dirent.h>
#include <string.h>

#include "interpreters.h"
#include "python.h"

#define MAX_MODULES 32
#define MAX_FINDERS 32

/* None of these has state of its own that runs could share, as `random` has. */
static const char *const NAMES[] = {"math",   "itertools",   "operator", "heapq",
                                    "bisect", "collections", "functools"};

static const char CODE[] = "/code";
static const char *const PLACES[] = {"path", "meta_path", "path_hooks"};
#define PLACE_COUNT (sizeof PLACES / sizeof *PLACES)
static const char *const HOOKS[] = {"__import__", "__build_class__"};
#define HOOK_COUNT (sizeof HOOKS / sizeof *HOOKS)

struct imported {
    char name[32];
    struct object *module;
    bool from_file, given;       /* a second import gives a new module */
    size_t imports[MAX_MODULES]; /* in order */
    size_t import_count;
};

struct place {
    struct object *list, *items[MAX_FINDERS];
    ptrdiff_t count;
};

static struct importing {
    struct python python;
    struct object *original; /* importlib._bootstrap._find_and_load */
    struct imported modules[MAX_MODULES];
    size_t count;
    struct imported *importer; /* whose import is recorded */
    bool recording;
    enum { NOT_ASKED, ALONE, NOT_ALONE } program;
    struct place places[PLACE_COUNT];
    const struct object *hooks[HOOK_COUNT];
} importing;

static struct imported *find(const char *name)
{
    for (size_t i = 0; i < importing.count; i++)
        if (!strcmp(importing.modules[i].name, name))
            return &importing.modules[i];
    return NULL;
}

/* ---- in a program ---- */

static bool read_place(size_t i, struct place *place)
{
    const struct python *python = &importing.python;
    place->list = python->PySys_GetObject(PLACES[i]);
    place->count = place->list ? python->PyList_Size(place->list) : -1;
    if (place->count < 0 || place->count > MAX_FINDERS)
        return false;
    for (ptrdiff_t item = 0; item < place->count; item++)
        place->items[item] = python->PyList_GetItem(place->list, item);
    return true;
}

/* The interpreter waits before or after it has put the program's directory into sys.path. */
static bool places_are_the_same(void)
{
    const struct python *python = &importing.python;
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        struct place now;
        const struct place *before = &importing.places[i];
        if (!read_place(i, &now) || now.list != before->list)
            return false;
        const ptrdiff_t more = now.count - before->count;
        const char *first = i == 0 && more == 1 ? python->PyUnicode_AsUTF8(now.items[0]) : NULL;
        python->PyErr_Clear();
        if ((more && (!first || strcmp(first, CODE))) ||
            memcmp(now.items + more, before->items, (size_t)before->count * sizeof *now.items))
            return false;
    }
    return true;
}

/* Functions of the module builtins that every import calls. */
static const struct object *read_hook(size_t i)
{
    const struct python *python = &importing.python;
    struct object *builtins =
        python->PyDict_GetItemString(python->PyImport_GetModuleDict(), "builtins");
    return builtins ? python->PyDict_GetItemString(python->PyModule_GetDict(builtins), HOOKS[i])
                    : NULL;
}

static bool hooks_are_the_same(void)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (read_hook(i) != importing.hooks[i])
            return false;
    return true;
}

/* Whether the program is the only file of the submission. */
static bool program_is_alone(void)
{
    if (importing.program == NOT_ASKED) {
        size_t files = 0;
        DIR *code = opendir(CODE);
        for (const struct dirent *entry; code && (entry = readdir(code));)
            files += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
                     strcmp(entry->d_name, BYTECODE_NAME);
        if (code)
            closedir(code);
        importing.program = files == 1 ? ALONE : NOT_ALONE;
    }
    return importing.program == ALONE;
}

static struct object *present(const char *name)
{
    const struct python *python = &importing.python;
    return python->PyDict_GetItemString(python->PyImport_GetModuleDict(), name);
}

/* Whether the program has put nothing else (None forbids an import) where a module and those that
 * it imports belong, and has removed none of them. */
static bool can_be_added(const struct imported *module)
{
    const struct object *found = present(module->name);
    if (found)
        return found == module->module;
    if (module->given)
        return false;
    for (size_t i = 0; i < module->import_count; i++)
        if (!can_be_added(&importing.modules[module->imports[i]]))
            return false;
    return true;
}

/* Adds a module and what it imports to sys.modules, in the order of its own import. */
static bool add(struct imported *module)
{
    const struct python *python = &importing.python;
    if (present(module->name))
        return true;
    module->given = !importing.recording;
    if (module->from_file) {
        struct object *path = python->PyList_GetItem(python->PySys_GetObject("path"), 0);
        struct object *finder = path ? python->PyImport_GetImporter(path) : NULL;
        if (!finder)
            return false;
        python->Py_DecRef(finder);
    }
    for (size_t i = 0; i < module->import_count; i++)
        if (!add(&importing.modules[module->imports[i]]))
            return false;
    return python->PyDict_SetItemString(python->PyImport_GetModuleDict(), module->name,
                                        module->module) == 0;
}

/* ---- while the interpreter imports them ---- */

/* Notes that the module that is being imported has imported another one. */
static void record(const struct imported *module)
{
    struct imported *importer = importing.importer;
    if (importer && importer->import_count < MAX_MODULES)
        importer->imports[importer->import_count++] = (size_t)(module - importing.modules);
}

static struct object *import_and_record(struct object *arguments, const char *name)
{
    const struct python *python = &importing.python;
    struct imported *importer = importing.importer;
    if (importing.count == MAX_MODULES || strlen(name) >= sizeof importing.modules->name)
        return python->PyObject_CallObject(importing.original, arguments);
    struct imported *own = &importing.modules[importing.count++];
    strcpy(own->name, name);
    record(own);
    importing.importer = own;
    own->module = python->PyObject_CallObject(importing.original, arguments);
    importing.importer = importer;
    struct object *file =
        own->module ? python->PyObject_GetAttrString(own->module, "__file__") : NULL;
    own->from_file = file != NULL;
    if (file)
        python->Py_DecRef(file);
    else
        python->PyErr_Clear();
    if (own->module)
        python->Py_IncRef(own->module);
    return own->module;
}

/* Is called instead of importlib's function for modules that are not in sys.modules. */
static struct object *find_and_load(struct object *self, struct object *arguments)
{
    const struct python *python = &importing.python;
    struct object *text = python->PyTuple_GetItem(arguments, 0);
    const char *name = text ? python->PyUnicode_AsUTF8(text) : NULL;
    (void)self;
    python->PyErr_Clear();
    struct imported *known = name ? find(name) : NULL;
    if (name && !known && importing.recording)
        return import_and_record(arguments, name);
    if (!known || !known->module || known->given ||
        !(importing.recording || (places_are_the_same() && hooks_are_the_same() &&
                                  can_be_added(known) && program_is_alone())))
        return python->PyObject_CallObject(importing.original, arguments);
    record(known);
    if (!add(known))
        return NULL;
    python->Py_IncRef(known->module);
    return known->module;
}

static void remove_all(void)
{
    const struct python *python = &importing.python;
    for (size_t i = 0; i < importing.count; i++)
        if (present(importing.modules[i].name))
            (void)python->PyDict_DelItemString(python->PyImport_GetModuleDict(),
                                               importing.modules[i].name);
}

static bool import_all(void)
{
    const struct python *python = &importing.python;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct object *module = python->PyImport_ImportModule(NAMES[i]);
        if (!module)
            return false;
        python->Py_DecRef(module);
        remove_all();
    }
    return true;
}

/* The search for modules has left a finder for /code, which knows the cover's files. */
static void forget_cover(void)
{
    const struct python *python = &importing.python;
    struct object *finders = python->PySys_GetObject("path_importer_cache");
    if (finders && python->PyDict_GetItemString(finders, CODE))
        (void)python->PyDict_DelItemString(finders, CODE);
}

static void replace_import(struct object *importlib, struct collector *collector)
{
    static struct method_definition definition = {"_find_and_load", find_and_load,
                                                  TAKES_ARGUMENTS, NULL};
    const struct python *python = &importing.python;
    struct object *replacement = python->PyCFunction_NewEx(&definition, NULL, NULL);
    for (size_t i = 0; i < PLACE_COUNT; i++)
        if (!read_place(i, &importing.places[i]))
            return;
    for (size_t i = 0; i < HOOK_COUNT; i++)
        importing.hooks[i] = read_hook(i);
    if (!replacement || python->PyObject_SetAttrString(importlib, definition.name, replacement))
        return;
    const int count = collector->generations[0].count;
    const int was_enabled = python->PyGC_Disable();
    importing.recording = true;
    const bool done = import_all();
    importing.recording = false;
    python->PyErr_Clear();
    remove_all();
    forget_cover();
    make_objects_old(collector);
    collector->generations[0].count = count;
    if (was_enabled)
        python->PyGC_Enable();
    if (!done)
        python->PyObject_SetAttrString(importlib, definition.name, importing.original);
}

void import_python_modules(void)
{
    struct python *python = &importing.python;
    if (!find_python(python) || !python->Py_IsInitialized())
        return;
    const int state = python->PyGILState_Ensure();
    struct object *importlib =
        python->PyDict_GetItemString(python->PyImport_GetModuleDict(), "_frozen_importlib");
    struct collector *collector = find_collector(python);
    if (importlib && collector &&
        (importing.original = python->PyObject_GetAttrString(importlib, "_find_and_load")))
        replace_import(importlib, collector);
    python->PyErr_Clear();
    python->PyGILState_Release(state);
}
