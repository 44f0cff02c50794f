"""The PLEG's table of what the runtime holds, compiled; rules and limits: `fallback/relist.py`, its oracle.

A relist has two halves. The first reads: each entry on the wire is looked up by id and marked with the relist's
number; one that is not as the table holds it goes on the pending list, one of an unknown id also into the table,
without a pod yet. The changes are built from that. The second half commits and cannot fail. Whatever raises before
takes the new entries out again, and the table is as it was: marks of an older number mean nothing.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from podherd.native.crientries cimport (
    AHEAD, HALF_AHEAD, KIND_CONTAINER, KIND_SANDBOX, TAG_ITEM,
    Ahead, Item, PodText, failed, is_text, read_entry, read_labels, read_metadata,
)
from podherd.native.idtable cimport (
    Entry, IdTable, fetch_entry, fetch_slot, find, free_all, hash_of, id_of, insert, remove, set_place,
)
from podherd.native.podindex cimport Pod, PodIndex, text_of
from podherd.native.protowire cimport Fault, Text, field_tag, skip, span

from podherd.model.keys import POD_NAME, POD_NAMESPACE, POD_UID
from podherd.native.changes import (
    ABSENT, CONTAINER, CONTAINER_REPLY, CONTAINER_STATES, SANDBOX, SANDBOX_REPLY, SANDBOX_STATES, Change, refusal,
)

cdef tuple KINDS = (SANDBOX, CONTAINER)
cdef tuple REPLIES = (SANDBOX_REPLY, CONTAINER_REPLY)
cdef tuple STATES = (SANDBOX_STATES, CONTAINER_STATES)
cdef object new_tuple = tuple.__new__
cdef int KEPT_ROOM = 1024


cdef str id_string(Entry* entry):
    return PyUnicode_DecodeUTF8(<const char*>id_of(entry), entry.id_size, "replace")


cdef PodText LABELS
LABELS.uid = text_of(POD_UID)
LABELS.namespace = text_of(POD_NAMESPACE)
LABELS.name = text_of(POD_NAME)


cdef struct Pending:
    Entry* entry
    Item item
    PyObject* pod       # the Pod it has now, NULL when it has none
    uint8_t* place      # a copy of the place for an entry that stands elsewhere
    bint fresh          # this one put the entry into the table
    bint live           # no later one of the same reply replaced it


cdef inline bint same_place(Entry* entry, Item* item) noexcept:
    """The entry stands where the table has it: its pod need not be read again."""
    cdef Text known
    if entry.kind == KIND_SANDBOX and item.place.size == 0:
        return False    # no metadata, or in parts: nothing to know it by
    known.at, known.size = entry.place, entry.place_size
    return is_text(known, item.place)


cdef object change(Entry* entry, str ident, Pod pod, str old, str new):
    return new_tuple(Change, (KINDS[entry.kind], ident, pod.uid, pod.namespace, pod.name, old, new))


@cython.final
cdef class Table:
    """What the runtime held at the last relist. One owner; not for several threads."""

    cdef IdTable tables[2]
    cdef PodIndex index        # keeps alive what Entry.pod borrows
    cdef uint64_t number       # of the relist under way, or the last one
    cdef Pending* pending
    cdef int waiting, room

    def __cinit__(self):
        self.index = PodIndex()    # Cython has zeroed the rest

    def __dealloc__(self):
        free_all(&self.tables[0])
        free_all(&self.tables[1])
        PyMem_Free(self.pending)

    def relist(self, bytes sandboxes not None, bytes containers not None):
        """Take two undecoded replies and tell what changed; see `relist.pyi`."""
        cdef list changes = []
        self.number += 1
        self.waiting = 0
        try:
            self.read(KIND_SANDBOX, sandboxes, changes)
            self.read(KIND_CONTAINER, containers, changes)
        except BaseException:
            self.roll_back()
            raise
        self.commit()
        return changes

    cdef int read(self, int kind, bytes reply, list changes) except -1:
        """The first half, for one reply: mark, look up what is pending, tell the changes."""
        cdef Fault fault
        cdef const uint8_t* base = <const uint8_t*><const char*>reply
        cdef int begin = self.waiting
        cdef int i
        fault.at = NULL
        self.tables[kind].seen = 0
        if self.scan(kind, base, base + len(reply), &fault) < 0:
            raise refusal(REPLIES[kind], len(reply), fault.at - base, fault.why)
        for i in range(begin, self.waiting):
            self.pending[i].live = self.pending[i].entry.pending == i
            if self.pending[i].live and self.settle(&self.pending[i], &fault) < 0:
                raise refusal(REPLIES[kind], len(reply), fault.at - base, fault.why)
        for i in range(begin, self.waiting):
            if self.pending[i].live:
                self.tell(&self.pending[i], changes)
        if self.tables[kind].seen < self.tables[kind].count:
            self.tell_gone(kind, changes)
        return 0

    cdef int scan(self, int kind, const uint8_t* p, const uint8_t* end, Fault* fault) except -2:
        """Read a reply and mark its entries; -1 with the fault filled where it cannot be read."""
        cdef Ahead ahead
        cdef Fault earlier
        ahead.read = ahead.marked = 0
        cdef int outcome = self.walk(kind, p, end, &ahead, fault)
        earlier.at = NULL
        while ahead.marked < ahead.read:
            if self.mark(kind, &ahead.items[ahead.marked % AHEAD], &earlier) < 0:
                fault[0] = earlier
                return -1
            ahead.marked += 1
        return outcome

    cdef int walk(self, int kind, const uint8_t* p, const uint8_t* end, Ahead* ahead, Fault* fault) except -2:
        """The fields of a reply; after a fault, entries that were read before it may still wait to be marked."""
        cdef const uint8_t* start
        cdef uint64_t tag = 0
        cdef Text body
        while p < end:
            start = p
            p = field_tag(p, end, &tag, fault)
            if p != NULL and tag == TAG_ITEM:
                p = span(p, end, &body, fault)
                if p != NULL and self.take_in(kind, body, ahead, fault) < 0:
                    return -1
            elif p != NULL:
                p = skip(p, end, tag, 0, fault)
            if p == NULL:
                return failed(start, fault)
        return 0

    cdef int take_in(self, int kind, Text body, Ahead* ahead, Fault* fault) except -2:
        """Read one entry and mark the one read AHEAD before it: what its look-up needs was loaded meanwhile."""
        cdef IdTable* table = &self.tables[kind]
        cdef Item* item = &ahead.items[ahead.read % AHEAD]
        if ahead.read == ahead.marked + AHEAD:
            if self.mark(kind, item, fault) < 0:
                ahead.marked = ahead.read
                return -1
            ahead.marked += 1
        if read_entry(body, kind, item, fault) < 0:
            return -1
        item.hash = hash_of(item.id)
        fetch_slot(table, item.hash)
        ahead.read += 1
        if ahead.read >= HALF_AHEAD:
            fetch_entry(table, ahead.items[(ahead.read - HALF_AHEAD) % AHEAD].hash)
        return 0

    cdef int mark(self, int kind, Item* item, Fault* fault) except -2:
        """Mark the entry of this id; unless it is as the table holds it, put it on the pending list."""
        cdef IdTable* table = &self.tables[kind]
        cdef uint64_t hash = item.hash
        cdef Entry* entry = find(table, item.id, hash)
        cdef bint known = entry != NULL and entry.pod != NULL and same_place(entry, item)
        if kind == KIND_SANDBOX and not known and read_metadata(item.body, &item.pod, fault) < 0:
            return -1
        if item.id.size == 0:
            return 0
        if entry == NULL:
            self.make_waiting_room()
            entry = insert(table, item.id, hash, item.place, kind)
            if entry == NULL:
                raise MemoryError
            self.wait(entry, item, True)
        elif known and entry.state == item.state:
            entry.pending = -1
        else:
            self.wait(entry, item, False)
        if entry.seen != self.number:
            entry.seen = self.number
            table.seen += 1
        return 0

    cdef int make_waiting_room(self) except -1:
        cdef Pending* more
        cdef int room = self.room * 2 if self.room else 64
        if self.waiting == self.room:
            more = <Pending*>PyMem_Realloc(self.pending, room * sizeof(Pending))
            if more == NULL:
                raise MemoryError
            self.pending, self.room = more, room
        return 0

    cdef int wait(self, Entry* entry, Item* item, bint fresh) except -1:
        cdef Pending* pending
        self.make_waiting_room()
        pending = &self.pending[self.waiting]
        pending.entry, pending.item, pending.fresh, pending.live = entry, item[0], fresh, False
        pending.pod, pending.place = NULL, NULL
        entry.pending = self.waiting
        self.waiting += 1
        return 0

    cdef int settle(self, Pending* pending, Fault* fault) except -2:
        """Find the pod of a pending entry; -1 with the fault filled when its labels cannot be read."""
        cdef Entry* entry = pending.entry
        cdef Text known
        if entry.pod != NULL and same_place(entry, &pending.item):
            self.assign(pending, <Pod>entry.pod)
            return 0
        if entry.kind == KIND_CONTAINER and read_labels(pending.item.body, &LABELS, &pending.item.pod, fault) < 0:
            return -1
        if pending.item.pod.uid.size:
            self.assign(pending, self.index.of(&pending.item.pod))
        elif entry.kind == KIND_CONTAINER:
            self.assign(pending, self.pod_of_sandbox(pending.item.place))
        known.at, known.size = entry.place, entry.place_size
        if pending.pod != NULL and not is_text(known, pending.item.place):
            pending.place = <uint8_t*>PyMem_Malloc(pending.item.place.size)
            if pending.place == NULL:
                raise MemoryError
            if pending.item.place.size:
                memcpy(pending.place, pending.item.place.at, pending.item.place.size)
        return 0

    cdef void assign(self, Pending* pending, Pod pod) noexcept:
        if pod is not None:
            pending.pod = <PyObject*>pod
            pod.users += 1

    cdef Pod pod_of_sandbox(self, Text sandbox):
        """The pod of a sandbox of this reply, else of the table; None when there is none."""
        cdef Entry* entry = find(&self.tables[KIND_SANDBOX], sandbox, hash_of(sandbox))
        cdef PyObject* pod = NULL
        if entry != NULL:
            pod = entry.pod
            if entry.seen == self.number and entry.pending >= 0:
                pod = self.pending[entry.pending].pod
        return <Pod>pod if pod != NULL else None

    cdef int tell(self, Pending* pending, list changes) except -1:
        cdef Entry* entry = pending.entry
        cdef tuple names = STATES[entry.kind]
        cdef str ident = id_string(entry)
        cdef bint moved
        if entry.pod != NULL and entry.pod == pending.pod:
            moved = entry.kind == KIND_CONTAINER and pending.place != NULL
            if moved or entry.state != pending.item.state:
                changes.append(change(entry, ident, <Pod>entry.pod, names[entry.state], names[pending.item.state]))
            return 0
        if entry.pod != NULL:
            changes.append(change(entry, ident, <Pod>entry.pod, names[entry.state], ABSENT))
        if pending.pod != NULL:
            changes.append(change(entry, ident, <Pod>pending.pod, ABSENT, names[pending.item.state]))
        return 0

    cdef int tell_gone(self, int kind, list changes) except -1:
        cdef IdTable* table = &self.tables[kind]
        cdef Entry* entry
        cdef list gone = []
        cdef size_t i
        for i in range(table.mask + 1):
            entry = table.slots[i].entry
            if entry != NULL and entry.seen != self.number:
                gone.append(change(entry, id_string(entry), <Pod>entry.pod, STATES[kind][entry.state], ABSENT))
        gone.sort()
        changes.extend(gone)
        return 0

    cdef int commit(self) except -1:
        """The second half: the table becomes what the replies said."""
        cdef int i, kind
        for i in range(self.waiting):
            if self.pending[i].live:
                self.apply(&self.pending[i])
        for kind in range(2):
            if self.tables[kind].seen < self.tables[kind].count:
                self.sweep(kind)
        self.drop_pending()
        return 0

    cdef int apply(self, Pending* pending) except -1:
        """Give an entry its new pod, state and sandbox; one that is of no pod leaves the table."""
        cdef Entry* entry = pending.entry
        if pending.pod == NULL:
            self.tables[entry.kind].seen -= 1
            self.take_out(entry)
            return 0
        if entry.pod != pending.pod:
            self.leave(entry)
            (<Pod>pending.pod).link(entry)
        self.index.release(<Pod>pending.pod)
        entry.state = pending.item.state
        if pending.place != NULL:
            set_place(entry, pending.place, pending.item.place.size)
            pending.place = NULL
        return 0

    cdef int sweep(self, int kind) except -1:
        """Take out what this relist did not meet. A removal moves entries up, so its slot is looked at again."""
        cdef IdTable* table = &self.tables[kind]
        cdef size_t i = 0
        while i <= table.mask:
            if table.slots[i].entry != NULL and table.slots[i].entry.seen != self.number:
                self.take_out(table.slots[i].entry)
            else:
                i += 1
        return 0

    cdef int roll_back(self) except -1:
        """Undo the first half: new entries leave again, pods that only they would have had too."""
        cdef int i
        cdef Pending* pending
        for i in range(self.waiting):
            pending = &self.pending[i]
            if pending.pod != NULL:
                self.index.release(<Pod>pending.pod)
            if pending.place != NULL:
                PyMem_Free(pending.place)
            if pending.fresh:
                remove(&self.tables[pending.entry.kind], pending.entry)
        self.drop_pending()
        return 0

    cdef void drop_pending(self) noexcept:
        """Empty the pending list; the memory of a long one (the first relist's) is given back."""
        self.waiting = 0
        if self.room > KEPT_ROOM:
            PyMem_Free(self.pending)
            self.pending, self.room = NULL, 0

    cdef int leave(self, Entry* entry) except -1:
        cdef Pod pod
        if entry.pod != NULL:
            pod = <Pod>entry.pod
            pod.unlink(entry)
            self.index.release(pod)
        return 0

    cdef int take_out(self, Entry* entry) except -1:
        self.leave(entry)
        remove(&self.tables[entry.kind], entry)
        return 0

    def pods(self):
        """(uid, namespace, name) of every pod that has an entry, sorted."""
        return self.index.everyone()

    def states(self, str uid not None):
        """State by id of one pod's sandboxes, then its containers, each sorted by id; empty for an unknown pod."""
        cdef list found = []
        cdef Pod pod = self.index.first_of(uid)
        cdef Entry* entry
        while pod is not None:
            entry = pod.first
            while entry != NULL:
                ident = PyBytes_FromStringAndSize(<const char*>id_of(entry), entry.id_size)
                found.append((entry.kind, ident, STATES[entry.kind][entry.state]))
                entry = entry.older
            pod = pod.other
        found.sort()
        return {ident.decode("utf-8", "replace"): state for _, ident, state in found}

    def forget(self, str uid not None):
        """Drop one pod's entries: the next relist reports those that are still there as new."""
        cdef Pod pod = self.index.first_of(uid)
        while pod is not None:
            while pod.first != NULL:
                self.take_out(pod.first)
            pod = self.index.first_of(uid)

    def counts(self):
        """How many sandboxes and how many containers the table holds."""
        return self.tables[KIND_SANDBOX].count, self.tables[KIND_CONTAINER].count

    def clear(self):
        """Forget everything, as a new table."""
        free_all(&self.tables[KIND_SANDBOX])
        free_all(&self.tables[KIND_CONTAINER])
        self.index = PodIndex()

    def __len__(self):
        return self.tables[KIND_SANDBOX].count + self.tables[KIND_CONTAINER].count
