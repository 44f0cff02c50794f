"""A uid of its own for a pod that was renamed but kept its `metadata.uid`.

The shard of the old name still clears away what this uid names on the node; two pods of one uid would share it.
"""

from dataclasses import replace

from podherd.machines.sources.events import StaticPod
from podherd.model.keys import CONFIG_HASH
from podherd.wire import codec


def with_own_uid(pod: StaticPod) -> StaticPod:
    """The pod under the uid that it would have if its manifest gave none: its content's."""
    body = codec.unpack(pod.body)
    body["metadata"]["uid"] = body["metadata"]["annotations"][CONFIG_HASH] = pod.content
    return replace(pod, uid=pod.content, body=codec.pack(body))
