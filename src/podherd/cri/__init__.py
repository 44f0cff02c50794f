"""CRI v1 over gRPC: client, undecoded list calls, pure conversion."""
