"""The PLEG's decisions: when to list, which pods to inspect, what to tell the shards (kubelet behaviour, section 4)."""
