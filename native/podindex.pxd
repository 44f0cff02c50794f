"""The pods that have entries in a relist table, by uid; see `podindex.pyx`."""

from podherd.native.crientries cimport PodText
from podherd.native.idtable cimport Entry
from podherd.native.protowire cimport Text


cdef Text text_of(str text) except *


cdef class Pod:
    cdef str uid, namespace, name
    cdef PodText text          # the same three as UTF-8, in the strings' own memory
    cdef Entry* first          # the chain of its entries
    cdef int users             # entries of the chain, and pending ones that will join it
    cdef Pod other             # of the same uid under another full name: a runtime that reports one is odd, not refused

    cdef void link(self, Entry* entry) noexcept
    cdef void unlink(self, Entry* entry) noexcept


cdef class PodIndex:
    cdef dict by_uid

    cdef Pod first_of(self, str uid)
    cdef Pod of(self, PodText* text)
    cdef int release(self, Pod pod) except -1
    cdef list everyone(self)
