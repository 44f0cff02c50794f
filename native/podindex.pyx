"""The pods that have entries in a relist table, by uid. A pod lives in the index as long as it has users."""

cimport cython
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL


cdef Text text_of(str text) except *:
    """The UTF-8 bytes of a string, which the string itself keeps."""
    cdef Py_ssize_t size
    cdef Text found
    found.at = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &size)
    found.size = size
    return found


cdef str string_of(Text text):
    if text.size == 0:
        return ""
    return PyUnicode_DecodeUTF8(<const char*>text.at, text.size, "replace")


@cython.final
@cython.no_gc
cdef class Pod:
    """A pod and the chain of its entries, newest first."""

    def __cinit__(self, str uid, str namespace, str name):
        self.uid, self.namespace, self.name = uid, namespace, name
        self.text.uid, self.text.namespace, self.text.name = text_of(uid), text_of(namespace), text_of(name)
        self.first = NULL
        self.users = 0

    cdef void link(self, Entry* entry) noexcept:
        """Put an entry at the head of the chain: one user more."""
        self.users += 1
        entry.pod = <PyObject*>self
        entry.newer = NULL
        entry.older = self.first
        if self.first != NULL:
            self.first.newer = entry
        self.first = entry

    cdef void unlink(self, Entry* entry) noexcept:
        """Take an entry out of the chain; the caller then takes back its use with `PodIndex.release`."""
        if entry.newer != NULL:
            entry.newer.older = entry.older
        else:
            self.first = entry.older
        if entry.older != NULL:
            entry.older.newer = entry.newer
        entry.pod = NULL


@cython.final
cdef class PodIndex:
    """Every pod with an entry; several of one uid are chained by `other`."""

    def __cinit__(self):
        self.by_uid = {}

    cdef Pod first_of(self, str uid):
        """A pod of this uid, or None."""
        return self.by_uid.get(uid)

    cdef Pod of(self, PodText* text):
        """The pod of this uid, namespace and name, made when there is none; it has no new user yet."""
        cdef str uid = string_of(text.uid)
        cdef str namespace = string_of(text.namespace)
        cdef str name = string_of(text.name)
        cdef Pod first = self.by_uid.get(uid)
        cdef Pod pod = first
        while pod is not None:
            if pod.namespace == namespace and pod.name == name:
                return pod
            pod = pod.other
        pod = Pod(uid, namespace, name)
        pod.other = first
        self.by_uid[uid] = pod
        return pod

    cdef int release(self, Pod pod) except -1:
        """Take one use of a pod back; without any it leaves the index."""
        cdef Pod before
        pod.users -= 1
        if pod.users > 0:
            return 0
        before = self.by_uid[pod.uid]
        if before is not pod:
            while before.other is not pod:
                before = before.other
            before.other = pod.other
        elif pod.other is not None:
            self.by_uid[pod.uid] = pod.other
        else:
            del self.by_uid[pod.uid]
        return 0

    cdef list everyone(self):
        """(uid, namespace, name) of every pod, sorted."""
        cdef list found = []
        cdef Pod pod
        for pod in self.by_uid.values():
            while pod is not None:
                found.append((pod.uid, pod.namespace, pod.name))
                pod = pod.other
        found.sort()
        return found
