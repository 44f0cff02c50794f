"""CSI drivers on this node: who is registered, and their volumes staged, published and taken away again.

`publish.publish` and `publish.unpublish` are what a pod's steps call, `registration.Registrar` is what the node actor
runs. The protocol is the Container Storage Interface 1.x and the kubelet's plugin registration v1, over unix sockets.
"""
