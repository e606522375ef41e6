"""Judge hosts: machines that judge for a server over HTTP, without its database and queue."""
