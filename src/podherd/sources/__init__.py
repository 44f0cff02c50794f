"""Where pods come from: files, a URL, later the API server."""
