"""Decides who may connect to the embedded Postgres: its own system user and root, as any role.

The server asks the kernel which user is at the other end of its socket (`peer`). So there are
no passwords to lose, and nobody else gets in. The files are written at each start, because
earlier versions trusted everybody who could reach the socket.
"""

import os
import tempfile
from pathlib import Path
from typing import Final

from deemster.store.embedded.data_directory import ClusterHome
from deemster.store.embedded.endpoint import APPLICATION, OWNER

MAP: Final = "deemster"


def write_access_files(home: ClusterHome) -> None:
    users = dict.fromkeys((home.owner.name, "root"))
    identities = [f'{MAP} "{user}" {role}\n' for user in users for role in (OWNER, APPLICATION)]
    replace(home, home.cluster / "pg_ident.conf", "".join(identities))
    replace(home, home.cluster / "pg_hba.conf", f"local all all peer map={MAP}\n")


def replace(home: ClusterHome, path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        if not home.owner.is_current:
            os.fchown(descriptor, home.owner.uid, home.owner.gid)
    Path(name).replace(path)
