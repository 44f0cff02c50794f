"""Reading the protobuf wire format in C (protobuf encoding specification): bounded, no Python objects.

Every reader takes the place to read at and the end of the enclosing message, and returns the place after what it read,
or NULL with `fault.why` set. `fault.at` is the start of the innermost field that could not be read: whoever
walks fields sets it, once. The numbers of `Why` index `changes.WHY`; `fallback/protowire.py` has the same rules.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    WHY_ENDS = 0
    WHY_LONG_NUMBER = 1
    WHY_FIELD_NUMBER = 2
    WHY_WIRE_TYPE = 3
    WHY_GROUP_END = 4
    WHY_DEPTH = 5
    GROUP_DEPTH = 100

cdef enum:
    WIRE_VARINT = 0
    WIRE_64 = 1
    WIRE_SPAN = 2
    WIRE_GROUP = 3
    WIRE_GROUP_END = 4
    WIRE_32 = 5


cdef struct Fault:
    int why
    const uint8_t* at


cdef struct Text:
    const uint8_t* at
    size_t size


cdef inline const uint8_t* varint(const uint8_t* p, const uint8_t* end, uint64_t* value, Fault* fault) noexcept nogil:
    """An unsigned varint of at most 64 bits."""
    cdef uint64_t got = 0
    cdef int shift = 0
    cdef uint8_t byte
    if p < end and p[0] < 0x80:
        value[0] = p[0]
        return p + 1
    while p < end:
        byte = p[0]
        p += 1
        if shift == 63 and byte > 1:
            fault.why = WHY_LONG_NUMBER
            return NULL
        got |= (<uint64_t>(byte & 0x7F)) << shift
        if byte < 0x80:
            value[0] = got
            return p
        shift += 7
    fault.why = WHY_ENDS
    return NULL


cdef inline const uint8_t* field_tag(const uint8_t* p, const uint8_t* end, uint64_t* tag, Fault* fault) noexcept nogil:
    """A tag: field number (1 to 2^29 - 1) and wire type in one number."""
    p = varint(p, end, tag, fault)
    if p != NULL and (tag[0] < 8 or tag[0] >> 32 != 0):
        fault.why = WHY_FIELD_NUMBER
        return NULL
    return p


cdef inline const uint8_t* span(const uint8_t* p, const uint8_t* end, Text* text, Fault* fault) noexcept nogil:
    """A length and that many bytes."""
    cdef uint64_t size
    p = varint(p, end, &size, fault)
    if p == NULL:
        return NULL
    if size > <uint64_t>(end - p):
        fault.why = WHY_ENDS
        return NULL
    text.at = p
    text.size = size
    return p + size


cdef inline const uint8_t* skip(
    const uint8_t* p, const uint8_t* end, uint64_t tag, int depth, Fault* fault
) noexcept nogil:
    """The value of a field that nobody asked for, of any wire type; `depth` counts the groups it stands in."""
    cdef uint64_t ignored = 0
    cdef Text text
    cdef int wire = tag & 7
    if wire == WIRE_SPAN:
        return span(p, end, &text, fault)
    if wire == WIRE_VARINT:
        return varint(p, end, &ignored, fault)
    if wire == WIRE_64 or wire == WIRE_32:
        if end - p < (8 if wire == WIRE_64 else 4):
            fault.why = WHY_ENDS
            return NULL
        return p + (8 if wire == WIRE_64 else 4)
    if wire != WIRE_GROUP:
        fault.why = WHY_GROUP_END if wire == WIRE_GROUP_END else WHY_WIRE_TYPE
        return NULL
    if depth == GROUP_DEPTH:
        fault.why = WHY_DEPTH
        return NULL
    return skip_group(p, end, tag, depth + 1, fault)


cdef inline const uint8_t* skip_group(
    const uint8_t* p, const uint8_t* end, uint64_t begin, int depth, Fault* fault
) noexcept nogil:
    """The fields of a group up to and with the end tag of the same number."""
    cdef const uint8_t* start
    cdef uint64_t tag = 0
    while True:
        start = p
        p = field_tag(p, end, &tag, fault)
        if p != NULL and tag == begin + 1:
            return p
        if p != NULL:
            p = skip(p, end, tag, depth, fault)
        if p == NULL:
            if fault.at == NULL:
                fault.at = start
            return NULL
