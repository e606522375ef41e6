/* Lets a Python program end without taking the interpreter apart, if nobody can see the difference.
 *
 * Py_FinalizeEx takes longer than the rest of a short run: it changes nearly all pages of the
 * copied interpreter. The interpreter that waits replaces its first instructions by a jump to
 * end_python(), which looks at all objects of the program without changing them. If none of them
 * does something visible at the end (a `__del__`, a callback, an open file, a generator inside of
 * `try`), end_python() flushes stdout and stderr, and the process exits at once. Else it restores the
 * instructions and calls Py_FinalizeEx: such a program ends as it does in any Python.
 *
 * Of the objects that the interpreter had before its program, it looks only at the classes. None of
 * the others did something at the end when the interpreter began to wait, and an object begins to
 * only if a class gets a finalizer: its own one, or a new one that it is given as `__class__`. These
 * objects are the first ones in the list of the old objects until the collector has looked at all
 * objects; if it has, so does end_python(). Until then all these classes exist, because only the
 * collector destroys classes.
 *
 * What this knows of CPython
 *   Where an object has its type, what links the objects, what a weak reference calls, and where
 *   a module's definition has its name. This is the same in the versions 3.11 to 3.13;
 *   find_layout() checks it. Where something is different, Py_FinalizeEx is called as usual. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpreters.h"
#include "python.h"

#define MAX_KNOWN    64  /* of a kind, in the interpreter that waits */
#define MAX_CLASSES  512 /* in the interpreter that waits */
#define CACHED_TYPES 128 /* a power of two */
#define STREAMS      3

#if defined(__x86_64__)
#define JUMP_BYTES 12
#elif defined(__aarch64__)
#define JUMP_BYTES 16
#else
#define JUMP_BYTES 0
#endif

struct known {
    const void *items[MAX_KNOWN];
    size_t count;
};

/* What an object may do when it is destroyed. */
enum kind { UNKNOWN, HARMLESS, WEAK, GENERATOR, FILE_OBJECT, TYPE, MODULE, VISIBLE };

struct cached_type {
    const struct object *type;
    enum kind kind;
};

/* Filled by the interpreter that waits; its copies only read it. */
static struct ending {
    struct python python;
    struct collector *collector;
    struct object *exit_functions; /* atexit._ncallbacks */
    struct object *debug_flags;    /* gc.get_debug */
    struct object *gc_callbacks;   /* gc.callbacks */
    struct object *filters;        /* warnings.filters, which ignore that a file is left open */
    struct object *first_filter;
    ptrdiff_t filter_count;
    struct object *streams[STREAMS], *buffers[STREAMS], *raws[STREAMS];
    ptrdiff_t
        attributes[STREAMS]; /* how many the three objects of a stream have of their own */
    struct object *text_file, *buffered_file, *raw_file, *memory_files[2]; /* types in io */
    struct known files;                  /* of the three streams */
    struct known callbacks;              /* C functions that weak references call */
    struct known types;                  /* with a finalizer */
    struct object *statistics;           /* gc.get_stats */
    long full_collections;               /* of the interpreter that waits */
    struct link *first, *last;           /* of its objects, in the list of the oldest */
    struct object *classes[MAX_CLASSES]; /* of its objects, those that can be changed */
    size_t class_count;
    unsigned char replaced[JUMP_BYTES + 1];
    bool left_out; /* the clean-up; only a copy changes this */
} ending;

static const char *const STREAM_NAMES[STREAMS] = {"__stdin__", "__stdout__", "__stderr__"};

/* Their objects may act on others when they are destroyed, and are not all found here. */
static const char *const OTHER_MODULES[] = {
    "_ctypes", "_dbm", "_gdbm", "_sqlite3", "_tkinter", "_xxsubinterpreters", "_interpreters"};

static void release(struct object *object)
{
    if (object)
        ending.python.Py_DecRef(object);
}

static struct object *attribute(struct object *object, const char *name)
{
    struct object *value = object ? ending.python.PyObject_GetAttrString(object, name) : NULL;
    if (object && !value)
        ending.python.PyErr_Clear();
    return value;
}

static struct object *module(const char *name)
{
    const struct python *python = &ending.python;
    return python->PyDict_GetItemString(python->PyImport_GetModuleDict(), name);
}

/* Whether a call without arguments gives something true; if it fails, `otherwise`. */
static bool is_true(struct object *called, bool otherwise)
{
    struct object *result = called ? ending.python.PyObject_CallNoArgs(called) : NULL;
    const int truth = result ? ending.python.PyObject_IsTrue(result) : -1;
    release(result);
    if (truth >= 0)
        return truth;
    ending.python.PyErr_Clear();
    return otherwise;
}

static bool attribute_is_true(struct object *object, const char *name, bool otherwise)
{
    struct object *value = attribute(object, name);
    const int truth = value ? ending.python.PyObject_IsTrue(value) : -1;
    release(value);
    return truth < 0 ? otherwise : truth;
}

static bool method_is_true(struct object *object, const char *name, bool otherwise)
{
    struct object *method = attribute(object, name);
    const bool truth = is_true(method, otherwise);
    release(method);
    return truth;
}

static bool is_known(const struct known *known, const void *item)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i] == item)
            return true;
    return false;
}

static bool remember(struct known *known, const void *item)
{
    if (is_known(known, item))
        return true;
    if (known->count == MAX_KNOWN)
        return false;
    known->items[known->count++] = item;
    return true;
}

/* ---- which objects do something visible when they are destroyed ---- */

static bool has_finalizer(struct object *type)
{
    const struct python *python = &ending.python;
    return python->PyType_GetSlot(type, SLOT_FINALIZE) ||
           python->PyType_GetSlot(type, SLOT_DEL);
}

static bool is_file_type(const struct object *type)
{
    return type == ending.text_file || type == ending.buffered_file || type == ending.raw_file;
}

static enum kind kind_of_type(struct object *type)
{
    const struct python *python = &ending.python;
    if (type == ending.memory_files[0] || type == ending.memory_files[1])
        return HARMLESS;
    if (type == python->PyGen_Type)
        return GENERATOR;
    if (is_file_type(type))
        return FILE_OBJECT;
    if (has_finalizer(type))
        return VISIBLE;
    if (python->PyType_GetFlags(type) & FLAG_TYPE_OBJECTS)
        return TYPE;
    if (type == python->_PyWeakref_ProxyType || type == python->_PyWeakref_CallableProxyType ||
        python->PyType_IsSubtype(type, python->_PyWeakref_RefType))
        return WEAK;
    return python->PyType_IsSubtype(type, python->PyModule_Type) ? MODULE : HARMLESS;
}

static bool is_of_module(struct object *function, const char *name)
{
    struct object *owner = module(name);
    return owner && ending.python.PyModule_GetDict(owner) ==
                        ending.python.PyFunction_GetGlobals(function);
}

static bool is_named(struct object *function, const char *name)
{
    struct object *own = attribute(function, "__name__");
    const char *text = own ? ending.python.PyUnicode_AsUTF8(own) : NULL;
    const bool same = text && !strcmp(text, name);
    release(own);
    return same;
}

/* The containers of the standard library with weak references only remove what has died. */
static bool callback_is_visible(struct object *callback)
{
    const struct python *python = &ending.python;
    if (!callback)
        return false;
    if (callback->type == python->PyCFunction_Type)
        return !is_known(&ending.callbacks, python->PyCFunction_GetFunction(callback));
    return callback->type != python->PyFunction_Type ||
           !(is_of_module(callback, "_weakrefset") || is_of_module(callback, "weakref")) ||
           !(is_named(callback, "remove") || is_named(callback, "_remove"));
}

/* A generator that is closed where it waits runs no more code, if nothing there handles
 * exceptions and it waits for no other iterator. */
static bool generator_is_visible(struct object *generator)
{
    if (!attribute_is_true(generator, "gi_suspended", true))
        return false;
    struct object *code = attribute(generator, "gi_code");
    const bool visible = attribute_is_true(code, "co_exceptiontable", true) ||
                         attribute_is_true(generator, "gi_yieldfrom", true);
    release(code);
    return visible;
}

/* Closing a file that can only be read changes nothing. */
static bool file_is_visible(struct object *file)
{
    if (is_known(&ending.files, file) || attribute_is_true(file, "closed", false))
        return false;
    if (file->type == ending.raw_file)
        return method_is_true(file, "writable", true);
    struct object *inner = attribute(file, file->type == ending.text_file ? "buffer" : "raw");
    const bool in_memory = inner && inner->type == ending.memory_files[0];
    const bool visible = !in_memory && (!inner || !is_file_type(inner->type) ||
                                        method_is_true(inner, "writable", true));
    release(inner);
    return visible;
}

/* Not all objects of a type are looked at: some are older than the program, and those without
 * containers are in no list. */
static bool type_is_visible(struct object *type)
{
    return has_finalizer(type) && !is_known(&ending.types, type);
}

static bool module_is_visible(struct object *object)
{
    const struct module_definition *definition = ending.python.PyModule_GetDef(object);
    for (size_t i = 0; definition && i < sizeof OTHER_MODULES / sizeof *OTHER_MODULES; i++)
        if (!strcmp(definition->name, OTHER_MODULES[i]))
            return true;
    return false;
}

static bool is_visible(struct object *object, enum kind kind)
{
    switch (kind) {
    case HARMLESS:
        return false;
    case WEAK:
        return callback_is_visible(((struct weak_reference *)object)->callback);
    case GENERATOR:
        return generator_is_visible(object);
    case FILE_OBJECT:
        return file_is_visible(object);
    case TYPE:
        return type_is_visible(object);
    case MODULE:
        return module_is_visible(object);
    default:
        return !is_known(&ending.files, object);
    }
}

static bool visit_after(const struct link *before, const struct generation *list,
                        bool (*visit)(struct object *, void *), void *state)
{
    for (struct link *at = before->next; at != &list->first; at = at->next)
        if (!visit((struct object *)(at + 1), state))
            return false;
    return true;
}

/* Calls `visit` for each container until it returns false, in the list of the oldest for those
 * after `before`; only reads the lists. */
static bool visit_objects(const struct link *before, bool (*visit)(struct object *, void *),
                          void *state)
{
    const struct collector *collector = ending.collector;
    const struct generation *lists = collector->generations, *oldest = &lists[GENERATIONS - 1];
    for (const struct generation *list = lists; list < oldest; list++)
        if (!visit_after(&list->first, list, visit, state))
            return false;
    return visit_after(before, oldest, visit, state) &&
           visit_after(&collector->permanent.first, &collector->permanent, visit, state);
}

static bool ends_silently(struct object *object, void *state)
{
    struct cached_type *types = state;
    const uintptr_t address = (uintptr_t)object->type;
    struct cached_type *cached = &types[(address >> 4 ^ address >> 11) % CACHED_TYPES];
    if (cached->type != object->type)
        *cached = (struct cached_type){object->type, kind_of_type(object->type)};
    return cached->kind == HARMLESS || !is_visible(object, cached->kind);
}

/* ---- the end of a program ---- */

/* Ends the threads as Py_FinalizeEx does; it will find none if it is called nevertheless. */
static bool threads_have_ended(void)
{
    const struct python *python = &ending.python;
    void *interpreter = python->PyInterpreterState_Head();
    struct object *threading = module("threading");
    if (python->PyInterpreterState_Next(interpreter))
        return false;
    if (threading) {
        struct object *shutdown = attribute(threading, "_shutdown");
        struct object *functions = attribute(threading, "_threading_atexits");
        const bool usual = shutdown && shutdown->type == python->PyFunction_Type &&
                           is_of_module(shutdown, "threading") && functions &&
                           python->PyObject_Size(functions) == 0;
        struct object *result = usual ? python->PyObject_CallNoArgs(shutdown) : NULL;
        if (usual && !result)
            python->PyErr_WriteUnraisable(threading);
        release(result);
        release(functions);
        release(shutdown);
        if (!result)
            return false;
    }
    return !python->PyThreadState_Next(python->PyInterpreterState_ThreadHead(interpreter));
}

static ptrdiff_t count_own_attributes(struct object *object)
{
    struct object *attributes = attribute(object, "__dict__");
    const ptrdiff_t count = attributes ? ending.python.PyObject_Size(attributes) : -1;
    release(attributes);
    return count;
}

/* A program may give a stream another `flush` or `close`. */
static ptrdiff_t count_attributes(int stream)
{
    return count_own_attributes(ending.streams[stream]) +
           count_own_attributes(ending.buffers[stream]) +
           count_own_attributes(ending.raws[stream]);
}

static bool streams_are_the_first(void)
{
    const struct python *python = &ending.python;
    for (int i = 0; i < STREAMS; i++) {
        if (python->PySys_GetObject(STREAM_NAMES[i]) != ending.streams[i] ||
            ending.streams[i]->type != ending.text_file)
            return false;
        struct object *buffer = attribute(ending.streams[i], "buffer");
        struct object *raw = attribute(buffer, "raw");
        const bool same = buffer == ending.buffers[i] && raw == ending.raws[i];
        release(raw);
        release(buffer);
        if (!same || count_attributes(i) != ending.attributes[i])
            return false;
    }
    return python->PySys_GetObject("stdout") == ending.streams[1] &&
           python->PySys_GetObject("stderr") == ending.streams[2];
}

static bool warnings_are_ignored(void)
{
    struct object *owner = module("warnings");
    struct object *filters = attribute(owner ? owner : module("_warnings"), "filters");
    const bool same = filters == ending.filters &&
                      ending.python.PyObject_Size(filters) == ending.filter_count &&
                      ending.python.PyList_GetItem(filters, 0) == ending.first_filter;
    release(filters);
    return same;
}

/* How often the collector has looked at all objects; -1 if that is unknown. */
static long count_full_collections(void)
{
    const struct python *python = &ending.python;
    struct object *all = python->PyObject_CallNoArgs(ending.statistics);
    struct object *oldest = all ? python->PyList_GetItem(all, GENERATIONS - 1) : NULL;
    struct object *count = oldest ? python->PyDict_GetItemString(oldest, "collections") : NULL;
    const long collections = count ? python->PyLong_AsLong(count) : -1;
    release(all);
    python->PyErr_Clear();
    return collections;
}

static bool objects_end_silently(void)
{
    struct cached_type types[CACHED_TYPES] = {0};
    const struct link *oldest = &ending.collector->generations[GENERATIONS - 1].first;
    if (oldest->next != ending.first || count_full_collections() != ending.full_collections)
        return visit_objects(oldest, ends_silently, types);
    for (size_t i = 0; i < ending.class_count; i++)
        if (type_is_visible(ending.classes[i]))
            return false;
    return visit_objects(ending.last, ends_silently, types);
}

static bool nothing_is_visible(void)
{
    const bool was_enabled = ending.python.PyGC_Disable(); /* so that it changes no list */
    const bool silent =
        !is_true(ending.exit_functions, true) && !is_true(ending.debug_flags, true) &&
        ending.python.PyObject_Size(ending.gc_callbacks) == 0 && streams_are_the_first() &&
        warnings_are_ignored() && objects_end_silently();
    if (was_enabled)
        ending.python.PyGC_Enable();
    return silent;
}

static bool flush(struct object *stream)
{
    struct object *method = attribute(stream, "flush");
    struct object *result = method ? ending.python.PyObject_CallNoArgs(method) : NULL;
    const bool flushed = result != NULL;
    if (!flushed)
        ending.python.PyErr_Clear(); /* Py_FinalizeEx tries again, and reports it */
    release(result);
    release(method);
    return flushed;
}

static int write_code(void *target, const void *code, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)target & ~(page - 1);
    const size_t length = (uintptr_t)target + bytes - first;
    if (mprotect((void *)first, length, PROT_READ | PROT_WRITE | PROT_EXEC))
        return -1;
    memcpy(target, code, bytes);
    __builtin___clear_cache((char *)target, (char *)target + bytes);
    return mprotect((void *)first, length, PROT_READ | PROT_EXEC);
}

/* Is called instead of Py_FinalizeEx. */
static int end_python(void)
{
    const struct python *python = &ending.python;
    if (python->Py_IsInitialized() && threads_have_ended() && nothing_is_visible() &&
        flush(ending.streams[1]) && flush(ending.streams[2])) {
        ending.left_out = true;
        return 0;
    }
    if (write_code((void *)python->Py_FinalizeEx, ending.replaced, JUMP_BYTES))
        return -1;
    return python->Py_FinalizeEx();
}

/* Is called when the process exits, before the libraries take themselves apart: that changes pages
 * of each of them, and does nothing else in a process whose objects do nothing. */
static void exit_at_once(int status, void *unused)
{
    (void)unused;
    if (!ending.left_out)
        return;
    (void)fflush(NULL);
    _exit(status);
}

/* ---- before the first copy ---- */

/* Imports a module for this library; programs have to import it themselves. */
static struct object *import_aside(const char *name)
{
    const struct python *python = &ending.python;
    if (module(name))
        return python->PyImport_ImportModule(name);
    struct object *imported = python->PyImport_ImportModule(name);
    if (!imported || python->PyDict_DelItemString(python->PyImport_GetModuleDict(), name))
        return NULL;
    python->PyObject_GC_UnTrack(imported);
    return imported;
}

static bool find_layout(struct object *some_module)
{
    const struct python *python = &ending.python;
    ending.collector = find_collector(python);
    struct object *weak = python->PyWeakref_NewRef(some_module, ending.exit_functions);
    const bool right = ending.collector && weak && weak->type == python->_PyWeakref_RefType &&
                       ((struct weak_reference *)weak)->object == some_module &&
                       ((struct weak_reference *)weak)->callback == ending.exit_functions;
    release(weak);
    const struct module_definition *definition = python->PyModule_GetDef(some_module);
    return right && definition && !strcmp(definition->name, "atexit");
}

static bool find_objects(void)
{
    const struct python *python = &ending.python;
    struct object *files = module("_io"), *exits = import_aside("atexit");
    struct object *collecting = import_aside("gc");
    ending.exit_functions = attribute(exits, "_ncallbacks");
    ending.debug_flags = attribute(collecting, "get_debug");
    ending.gc_callbacks = attribute(collecting, "callbacks");
    ending.statistics = attribute(collecting, "get_stats");
    ending.filters = attribute(module("_warnings"), "filters");
    ending.text_file = attribute(files, "TextIOWrapper");
    ending.buffered_file = attribute(files, "BufferedReader");
    ending.raw_file = attribute(files, "FileIO");
    ending.memory_files[0] = attribute(files, "BytesIO");
    ending.memory_files[1] = attribute(files, "StringIO");
    if (!ending.exit_functions || !ending.debug_flags || !ending.gc_callbacks ||
        !ending.statistics || !ending.filters || !ending.text_file || !ending.buffered_file ||
        !ending.raw_file || !ending.memory_files[0] || !ending.memory_files[1] ||
        !find_layout(exits))
        return false;
    release(ending.filters);
    ending.filter_count = python->PyObject_Size(ending.filters);
    ending.first_filter =
        ending.filter_count > 0 ? python->PyList_GetItem(ending.filters, 0) : NULL;
    for (int i = 0; i < STREAMS; i++) {
        ending.streams[i] = python->PySys_GetObject(STREAM_NAMES[i]);
        ending.buffers[i] = attribute(ending.streams[i], "buffer");
        ending.raws[i] = attribute(ending.buffers[i], "raw");
        release(ending.buffers[i]); /* the program may close and replace them */
        release(ending.raws[i]);
        if (!ending.raws[i] || !remember(&ending.files, ending.streams[i]) ||
            !remember(&ending.files, ending.buffers[i]) ||
            !remember(&ending.files, ending.raws[i]))
            return false;
        ending.attributes[i] = count_attributes(i);
    }
    return ending.first_filter != NULL;
}

/* Remembers what the interpreter has before its program: it was so in every run. */
static bool remember_object(struct object *object, void *state)
{
    const struct python *python = &ending.python;
    const enum kind kind = kind_of_type(object->type);
    if (kind == TYPE && !(python->PyType_GetFlags(object) & FLAG_IMMUTABLE)) {
        if (ending.class_count == MAX_CLASSES)
            return false;
        ending.classes[ending.class_count++] = object;
    }
    if (!ends_silently(object, state)) {
        if (kind == TYPE)
            return remember(&ending.types, object);
        struct object *callback =
            kind == WEAK ? ((struct weak_reference *)object)->callback : NULL;
        return callback && callback->type == python->PyCFunction_Type &&
               remember(&ending.callbacks, python->PyCFunction_GetFunction(callback));
    }
    return true;
}

static bool is_listed(struct object *object)
{
    return ((struct link *)object - 1)->next != NULL;
}

static struct link *take_out(struct object *object)
{
    struct link *link = (struct link *)object - 1;
    previous(link)->next = link->next;
    link->next->previous = (link->next->previous & LINK_FLAGS) | (uintptr_t)previous(link);
    return link;
}

static void put_in(struct link *link, struct link *before)
{
    struct link *after = before->next;
    link->next = after;
    link->previous = (link->previous & LINK_FLAGS) | (uintptr_t)before;
    before->next = link;
    after->previous = (after->previous & LINK_FLAGS) | (uintptr_t)link;
}

/* Puts two objects that always exist before and behind all others. */
static bool enclose_objects(void)
{
    struct link *oldest = &ending.collector->generations[GENERATIONS - 1].first;
    if (!is_listed(ending.exit_functions) || !is_listed(ending.debug_flags))
        return false;
    make_objects_old(ending.collector);
    put_in(ending.first = take_out(ending.exit_functions), oldest);
    put_in(ending.last = take_out(ending.debug_flags), previous(oldest));
    ending.full_collections = count_full_collections();
    return ending.full_collections >= 0;
}

static int replace_start(void)
{
    void *target = (void *)ending.python.Py_FinalizeEx;
    int (*const called)(void) = end_python;
#if defined(__x86_64__)
    unsigned char jump[JUMP_BYTES] = {0x48, 0xb8, [10] = 0xff, 0xe0}; /* mov rax, …; jmp rax */
    memcpy(jump + 2, &called, sizeof called);
#else
    unsigned char jump[JUMP_BYTES] = {0x50, 0, 0, 0x58, 0, 2, 0x1f, 0xd6}; /* ldr x16; br x16 */
    memcpy(jump + 8, &called, sizeof called);
#endif
    memcpy(ending.replaced, target, JUMP_BYTES);
    return write_code(target, jump, JUMP_BYTES);
}

void shorten_end_of_python(void)
{
    struct python *python = &ending.python;
    struct cached_type types[CACHED_TYPES] = {0};
    if (!JUMP_BYTES || !find_python(python) || !python->Py_IsInitialized())
        return;
    const int state = python->PyGILState_Ensure();
    const bool was_enabled = python->PyGC_Disable();
    if (find_objects() && enclose_objects() &&
        visit_objects(&ending.collector->generations[GENERATIONS - 1].first, remember_object,
                      types) &&
        on_exit(exit_at_once, NULL) == 0)
        (void)replace_start();
    if (was_enabled)
        python->PyGC_Enable();
    python->PyErr_Clear();
    python->PyGILState_Release(state);
}
