"""The fields of CRI v1 PodSandbox and Container that a relist needs, as spans of the wire bytes.

A repeated field's last value counts, parts of a repeated metadata message are merged (protobuf encoding specification);
a field of an unexpected wire type is an unknown field.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from podherd.native.protowire cimport Fault, Text, field_tag, skip, span, varint

cdef enum:
    TAG_ITEM = 1 << 3 | 2            # items of ListPodSandboxResponse, containers of ListContainersResponse
    TAG_ID = 1 << 3 | 2
    TAG_SANDBOX_METADATA = 2 << 3 | 2
    TAG_SANDBOX_STATE = 3 << 3
    TAG_METADATA_NAME = 1 << 3 | 2
    TAG_METADATA_UID = 2 << 3 | 2
    TAG_METADATA_NAMESPACE = 3 << 3 | 2
    TAG_CONTAINER_SANDBOX = 2 << 3 | 2
    TAG_CONTAINER_STATE = 6 << 3
    TAG_CONTAINER_LABELS = 8 << 3 | 2
    TAG_KEY = 1 << 3 | 2
    TAG_VALUE = 2 << 3 | 2

cdef enum:
    KIND_SANDBOX = 0
    KIND_CONTAINER = 1


cdef struct PodText:
    Text uid
    Text namespace
    Text name


cdef struct Item:
    Text id
    Text place       # where it stands: a container's sandbox id, a sandbox's metadata unless it came in parts
    PodText pod      # filled by read_metadata or read_labels, when the place is not the known one
    Text body        # the whole entry
    uint64_t hash    # of the id, filled by the table
    uint8_t state    # index into the state names of its kind


cdef enum:
    AHEAD = 16
    HALF_AHEAD = 8


cdef struct Ahead:
    # A ring of entries read and not yet looked up: a look-up misses the caches, so its memory is asked for early.
    Item items[AHEAD]
    size_t read
    size_t marked


cdef inline uint8_t state_of(uint64_t value, uint8_t last) noexcept nogil:
    """An enum value is 32 bits wide; what CRI v1 does not know counts as the last known one."""
    return last if <uint32_t>value > last else <uint8_t>value


cdef inline int failed(const uint8_t* start, Fault* fault) noexcept nogil:
    if fault.at == NULL:
        fault.at = start
    return -1


cdef inline int read_part(Text body, PodText* pod, Fault* fault) noexcept nogil:
    """A PodSandboxMetadata, or a part of one; 0, or -1 with the fault filled."""
    cdef const uint8_t* p = body.at
    cdef const uint8_t* end = body.at + body.size
    cdef const uint8_t* start
    cdef uint64_t tag = 0
    while p < end:
        start = p
        p = field_tag(p, end, &tag, fault)
        if p == NULL:
            return failed(start, fault)
        if tag == TAG_METADATA_UID:
            p = span(p, end, &pod.uid, fault)
        elif tag == TAG_METADATA_NAMESPACE:
            p = span(p, end, &pod.namespace, fault)
        elif tag == TAG_METADATA_NAME:
            p = span(p, end, &pod.name, fault)
        else:
            p = skip(p, end, tag, 0, fault)
        if p == NULL:
            return failed(start, fault)
    return 0


cdef inline int read_entry(Text body, int kind, Item* item, Fault* fault) noexcept nogil:
    """A PodSandbox or Container into `item`, metadata and labels left unread; 0, or -1 with the fault filled."""
    cdef const uint8_t* p = body.at
    cdef const uint8_t* end = body.at + body.size
    cdef const uint8_t* start
    cdef uint64_t tag = 0
    cdef uint64_t value = 0
    cdef bint split = False
    memset(item, 0, sizeof(Item))
    item.body = body
    while p < end:
        start = p
        p = field_tag(p, end, &tag, fault)
        if p == NULL:
            return failed(start, fault)
        if tag == TAG_ID:
            p = span(p, end, &item.id, fault)
        elif kind == KIND_CONTAINER and tag == TAG_CONTAINER_SANDBOX:
            p = span(p, end, &item.place, fault)
        elif kind == KIND_CONTAINER and tag == TAG_CONTAINER_STATE:
            p = varint(p, end, &value, fault)
            item.state = state_of(value, 3)
        elif kind == KIND_SANDBOX and tag == TAG_SANDBOX_METADATA:
            split = item.place.at != NULL
            p = span(p, end, &item.place, fault)
        elif kind == KIND_SANDBOX and tag == TAG_SANDBOX_STATE:
            p = varint(p, end, &value, fault)
            item.state = state_of(value, 1)
        else:
            p = skip(p, end, tag, 0, fault)
        if p == NULL:
            return failed(start, fault)
    if split:
        item.place.size = 0
    return 0


cdef inline int read_metadata(Text body, PodText* pod, Fault* fault) noexcept nogil:
    """The pod that a sandbox's metadata names, all its parts merged; 0, or -1 with the fault filled.

    `body` was read by read_entry before: a fault can only be inside a part.
    """
    cdef const uint8_t* p = body.at
    cdef const uint8_t* end = body.at + body.size
    cdef uint64_t tag = 0
    cdef Text part
    memset(&part, 0, sizeof(Text))
    while p < end:
        p = field_tag(p, end, &tag, fault)
        if tag != TAG_SANDBOX_METADATA:
            p = skip(p, end, tag, 0, fault)
            continue
        p = span(p, end, &part, fault)
        if read_part(part, pod, fault) < 0:
            return -1
    return 0


cdef inline int read_pair(Text body, Text* key, Text* value, Fault* fault) noexcept nogil:
    """One entry of a string map; 0, or -1 with the fault filled."""
    cdef const uint8_t* p = body.at
    cdef const uint8_t* end = body.at + body.size
    cdef const uint8_t* start
    cdef uint64_t tag = 0
    key.size = value.size = 0
    while p < end:
        start = p
        p = field_tag(p, end, &tag, fault)
        if p == NULL:
            return failed(start, fault)
        if tag == TAG_KEY:
            p = span(p, end, key, fault)
        elif tag == TAG_VALUE:
            p = span(p, end, value, fault)
        else:
            p = skip(p, end, tag, 0, fault)
        if p == NULL:
            return failed(start, fault)
    return 0


cdef inline bint is_text(Text text, Text other) noexcept nogil:
    return text.size == other.size and (text.size == 0 or memcmp(text.at, other.at, text.size) == 0)


cdef inline int read_labels(Text body, PodText* keys, PodText* pod, Fault* fault) noexcept nogil:
    """The pod that a container's labels name, by the three label keys; 0, or -1 with the fault filled.

    `body` was read by read_entry before: a fault can only be inside a label.
    """
    cdef const uint8_t* p = body.at
    cdef const uint8_t* end = body.at + body.size
    cdef uint64_t tag = 0
    cdef Text pair, key, value
    memset(&pair, 0, sizeof(Text))
    memset(&key, 0, sizeof(Text))
    memset(&value, 0, sizeof(Text))
    while p < end:
        p = field_tag(p, end, &tag, fault)
        if tag != TAG_CONTAINER_LABELS:
            p = skip(p, end, tag, 0, fault)
            continue
        p = span(p, end, &pair, fault)
        if read_pair(pair, &key, &value, fault) < 0:
            return -1
        if is_text(key, keys.uid):
            pod.uid = value
        elif is_text(key, keys.namespace):
            pod.namespace = value
        elif is_text(key, keys.name):
            pod.name = value
    return 0
