"""Decides who may connect to the embedded Postgres: its own system user and root, as any role.

The server asks the kernel which user is at the other end of its socket (`peer`). So there are
no passwords to lose, and nobody else gets in. The files are written at each start, because
earlier versions trusted everybody who could reach the socket.
"""

from typing import Final

from deemster.private_file import write_private
from deemster.store.embedded.data_directory import ClusterHome
from deemster.store.embedded.endpoint import APPLICATION, OWNER

MAP: Final = "deemster"


def write_access_files(home: ClusterHome) -> None:
    users = dict.fromkeys((home.owner.name, "root"))
    identities = [f'{MAP} "{user}" {role}' for user in users for role in (OWNER, APPLICATION)]
    owner = None if home.owner.is_current else (home.owner.uid, home.owner.gid)
    write_private(home.cluster / "pg_ident.conf", "\n".join(identities), owner=owner)
    write_private(home.cluster / "pg_hba.conf", f"local all all peer map={MAP}", owner=owner)
