/* What the library uses of CPython, whose headers a build of the runner doesn't need. */
#ifndef DEEMSTER_WARM_PYTHON_H
#define DEEMSTER_WARM_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
    intptr_t references;
    struct object *type;
};

/* Comes before each object that contains others, and links all of them. */
struct link {
    struct link *next;
    uintptr_t previous;
};

#define LINK_FLAGS ((uintptr_t)3) /* in `previous` */

struct generation {
    struct link first;
    int threshold, count;
};

#define GENERATIONS 3

struct collector {
    struct generation generations[GENERATIONS];
    struct link *youngest;
    struct generation permanent;
};

struct weak_reference {
    struct object head;
    struct object *object, *callback;
};

struct module_definition {
    struct object head;
    void *reserved[3];
    const char *name;
};

struct method_definition {
    const char *name;
    struct object *(*function)(struct object *, struct object *);
    int flags;
    const char *text;
};

#define TAKES_ARGUMENTS   1
#define FLAG_IMMUTABLE    (1UL << 8)
#define FLAG_CONTAINER    (1UL << 14)
#define FLAG_TYPE_OBJECTS (1UL << 31) /* objects of the type are types */
#define SLOT_DEL          53
#define SLOT_FINALIZE     80

/* The functions and types that this uses: the result, the name and the parameters of each. */
#define FUNCTIONS(F)                                                                           \
    F(const char *, Py_GetVersion, (void))                                                     \
    F(int, Py_FinalizeEx, (void))                                                              \
    F(int, Py_IsInitialized, (void))                                                           \
    F(int, PyGILState_Ensure, (void))                                                          \
    F(void, PyGILState_Release, (int))                                                         \
    F(void *, PyInterpreterState_Head, (void))                                                 \
    F(void *, PyInterpreterState_Next, (void *))                                               \
    F(void *, PyInterpreterState_ThreadHead, (void *))                                         \
    F(void *, PyThreadState_Next, (void *))                                                    \
    F(unsigned long, PyType_GetFlags, (struct object *))                                       \
    F(void *, PyType_GetSlot, (struct object *, int))                                          \
    F(int, PyType_IsSubtype, (struct object *, struct object *))                               \
    F(struct object *, PyObject_GetAttrString, (struct object *, const char *))                \
    F(struct object *, PyObject_CallNoArgs, (struct object *))                                 \
    F(int, PyObject_IsTrue, (struct object *))                                                 \
    F(ptrdiff_t, PyObject_Size, (struct object *))                                             \
    F(void, PyObject_GC_UnTrack, (void *))                                                     \
    F(void, PyErr_Clear, (void))                                                               \
    F(void, PyErr_WriteUnraisable, (struct object *))                                          \
    F(struct object *, PyList_GetItem, (struct object *, ptrdiff_t))                           \
    F(struct object *, PyModule_GetDict, (struct object *))                                    \
    F(long, PyLong_AsLong, (struct object *))                                                  \
    F(struct object *, PyList_New, (ptrdiff_t))                                                \
    F(struct object *, PySys_GetObject, (const char *))                                        \
    F(struct object *, PyImport_ImportModule, (const char *))                                  \
    F(struct object *, PyImport_GetModuleDict, (void))                                         \
    F(int, PyDict_DelItemString, (struct object *, const char *))                              \
    F(struct object *, PyDict_GetItemString, (struct object *, const char *))                  \
    F(struct module_definition *, PyModule_GetDef, (struct object *))                          \
    F(void *, PyCFunction_GetFunction, (struct object *))                                      \
    F(struct object *, PyFunction_GetGlobals, (struct object *))                               \
    F(struct object *, PyWeakref_NewRef, (struct object *, struct object *))                   \
    F(struct object *, PyObject_CallObject, (struct object *, struct object *))                \
    F(int, PyObject_SetAttrString, (struct object *, const char *, struct object *))           \
    F(struct object *, PyTuple_GetItem, (struct object *, ptrdiff_t))                          \
    F(const char *, PyUnicode_AsUTF8, (struct object *))                                       \
    F(ptrdiff_t, PyList_Size, (struct object *))                                               \
    F(int, PyDict_SetItemString, (struct object *, const char *, struct object *))             \
    F(struct object *, PyImport_GetImporter, (struct object *))                                \
    F(struct object *, PyCFunction_NewEx,                                                      \
      (struct method_definition *, struct object *, struct object *))                          \
    F(long, PyImport_GetMagicNumber, (void))                                                   \
    F(struct object *, Py_BuildValue, (const char *, ...))                                     \
    F(int, PyGC_Disable, (void))                                                               \
    F(int, PyGC_Enable, (void))                                                                \
    F(void, Py_IncRef, (struct object *))                                                      \
    F(void, Py_DecRef, (struct object *))
#define TYPES(T)                                                                               \
    T(PyCFunction_Type)                                                                        \
    T(PyFunction_Type)                                                                         \
    T(PyGen_Type)                                                                              \
    T(PyModule_Type)                                                                           \
    T(_PyWeakref_RefType)                                                                      \
    T(_PyWeakref_ProxyType)                                                                    \
    T(_PyWeakref_CallableProxyType)

#define DECLARE_FUNCTION(result, name, parameters) result(*name) parameters;
#define DECLARE_TYPE(name)                         struct object *name;

struct python {
    FUNCTIONS(DECLARE_FUNCTION)
    TYPES(DECLARE_TYPE)
};

struct link *previous(const struct link *link);

/* Finds the lists of all objects; NULL if this version of CPython has others. */
struct collector *find_collector(const struct python *python);

/* Makes all objects old ones, so that programs don't collect garbage sooner than usual. */
void make_objects_old(struct collector *collector);

/* Finds all of them in this process; false if it is not CPython, or of another version. */
bool find_python(struct python *python);

#endif
