"""A hash table in C from an id's bytes to its entry: open addressing, linear probing, no tombstones.

Memory is CPython's own allocator's, so that `sys.getallocatedblocks` and tracemalloc see it. Entries do not move: a
pointer to one is good until it is removed. Functions that allocate return NULL or -1 and leave the table whole.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from podherd.native.protowire cimport Text


cdef struct Entry:
    # 64 bytes, then the id's, then the place's: a lookup reads on in the same lines.
    uint64_t hash
    uint64_t seen       # the number of the last relist that met it
    PyObject* pod       # its Pod, which the table keeps alive; NULL until it is committed
    Entry* older        # the chain of all entries of the pod
    Entry* newer
    uint8_t* place      # see Item.place; behind the id, or own memory after a move
    uint32_t place_size
    uint32_t id_size
    int pending         # its place in the list of pending changes, -1 when this relist met it unchanged
    uint8_t kind
    uint8_t state


cdef struct Slot:
    uint64_t hash
    Entry* entry


cdef struct IdTable:
    Slot* slots         # NULL while nothing was ever put in
    size_t mask         # slots - 1, a power of two less one
    size_t count
    size_t seen         # entries met by the relist under way


cdef inline uint8_t* id_of(Entry* entry) noexcept nogil:
    return <uint8_t*>(entry + 1)


cdef inline uint64_t hash_of(Text text) noexcept nogil:
    """64 bits of all the bytes: multiply and fold eight at a time, two lanes, then mix."""
    cdef uint64_t a = <uint64_t>0x9E3779B97F4A7C15 ^ text.size
    cdef uint64_t b = <uint64_t>0xC2B2AE3D27D4EB4F
    cdef uint64_t word
    cdef const uint8_t* p = text.at
    cdef size_t left = text.size
    while left >= 16:
        memcpy(&word, p, 8)
        a = (a ^ word) * <uint64_t>0xD6E8FEB86659FD93
        a ^= a >> 32
        memcpy(&word, p + 8, 8)
        b = (b ^ word) * <uint64_t>0xA0761D6478BD642F
        b ^= b >> 32
        p += 16
        left -= 16
    while left > 0:
        word = 0
        memcpy(&word, p, 8 if left >= 8 else left)
        a = (a ^ word) * <uint64_t>0xD6E8FEB86659FD93
        a ^= a >> 32
        p += 8 if left >= 8 else left
        left -= 8 if left >= 8 else left
    a = (a ^ (b * <uint64_t>0x9E3779B97F4A7C15)) * <uint64_t>0xD6E8FEB86659FD93
    return a ^ (a >> 29)


cdef extern from *:
    """
    #define podherd_prefetch(address) __builtin_prefetch(address)
    """
    void podherd_prefetch(const void* address) noexcept nogil


cdef inline void fetch_slot(IdTable* table, uint64_t hash) noexcept nogil:
    """Begin to load the slot where a find of this hash will begin."""
    if table.slots != NULL:
        podherd_prefetch(&table.slots[hash & table.mask])


cdef inline void fetch_entry(IdTable* table, uint64_t hash) noexcept nogil:
    """Begin to load the entry that a find of this hash will most likely meet: head, id and place."""
    cdef const uint8_t* entry
    if table.slots != NULL:
        entry = <const uint8_t*>table.slots[hash & table.mask].entry
        if entry != NULL:
            podherd_prefetch(entry)
            podherd_prefetch(entry + 64)
            podherd_prefetch(entry + 128)


cdef inline Entry* find(IdTable* table, Text text, uint64_t hash) noexcept nogil:
    """The entry of this id, or NULL."""
    cdef size_t at
    cdef Slot* slot
    if table.slots == NULL:
        return NULL
    at = hash & table.mask
    while True:
        slot = &table.slots[at]
        if slot.entry == NULL:
            return NULL
        if slot.hash == hash and slot.entry.id_size == text.size \
                and memcmp(id_of(slot.entry), text.at, text.size) == 0:
            return slot.entry
        at = (at + 1) & table.mask


cdef inline void settle_in(IdTable* table, Entry* entry) noexcept nogil:
    """Put an entry in the first free slot from its hash; there is one."""
    cdef size_t at = entry.hash & table.mask
    while table.slots[at].entry != NULL:
        at = (at + 1) & table.mask
    table.slots[at].hash = entry.hash
    table.slots[at].entry = entry


cdef inline int make_room(IdTable* table) noexcept:
    """Grow so that one more entry leaves at least half of the slots free; -1 without memory."""
    cdef Slot* old = table.slots
    cdef size_t room = table.mask + 1 if old != NULL else 0
    cdef size_t wanted = room * 2 if room else 64
    cdef size_t i
    if (table.count + 1) * 2 <= room:
        return 0
    table.slots = <Slot*>PyMem_Calloc(wanted, sizeof(Slot))
    if table.slots == NULL:
        table.slots = old
        return -1
    table.mask = wanted - 1
    for i in range(room):
        if old[i].entry != NULL:
            settle_in(table, old[i].entry)
    PyMem_Free(old)
    return 0


cdef inline Entry* insert(IdTable* table, Text text, uint64_t hash, Text place, uint8_t kind) noexcept:
    """A new entry of this id, without a pod; NULL without memory."""
    cdef Entry* entry
    if text.size > 0x7FFFFFFF or place.size > 0x7FFFFFFF or make_room(table) < 0:
        return NULL
    entry = <Entry*>PyMem_Malloc(sizeof(Entry) + text.size + place.size)
    if entry == NULL:
        return NULL
    entry.hash = hash
    entry.seen = 0
    entry.pod = NULL
    entry.older = entry.newer = NULL
    entry.id_size = <uint32_t>text.size
    entry.place_size = <uint32_t>place.size
    entry.place = id_of(entry) + text.size
    entry.pending = -1
    entry.kind = kind
    entry.state = 0
    memcpy(id_of(entry), text.at, text.size)
    if place.size:
        memcpy(entry.place, place.at, place.size)
    settle_in(table, entry)
    table.count += 1
    return entry


cdef inline void set_place(Entry* entry, uint8_t* owned, size_t size) noexcept:
    """Give an entry another place, in memory that it owns from now on."""
    if entry.place != id_of(entry) + entry.id_size:
        PyMem_Free(entry.place)
    entry.place = owned
    entry.place_size = <uint32_t>size


cdef inline void free_entry(Entry* entry) noexcept:
    if entry.place != id_of(entry) + entry.id_size:
        PyMem_Free(entry.place)
    PyMem_Free(entry)


cdef inline void remove(IdTable* table, Entry* entry) noexcept:
    """Take an entry out and free it; those after it move up, so that no probe meets a hole."""
    cdef size_t hole = entry.hash & table.mask
    cdef size_t at, home
    while table.slots[hole].entry != entry:
        hole = (hole + 1) & table.mask
    at = hole
    while True:
        at = (at + 1) & table.mask
        if table.slots[at].entry == NULL:
            break
        home = table.slots[at].hash & table.mask
        if ((at - home) & table.mask) >= ((at - hole) & table.mask):
            table.slots[hole] = table.slots[at]
            hole = at
    table.slots[hole].entry = NULL
    table.count -= 1
    free_entry(entry)


cdef inline void free_all(IdTable* table) noexcept:
    """Free every entry and the slots: the table is as new."""
    cdef size_t i
    if table.slots != NULL:
        for i in range(table.mask + 1):
            if table.slots[i].entry != NULL:
                free_entry(table.slots[i].entry)
        PyMem_Free(table.slots)
    table.slots = NULL
    table.mask = table.count = table.seen = 0
