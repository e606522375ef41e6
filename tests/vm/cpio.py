"""Writes cpio archives ("newc"), which the kernel unpacks as its initramfs."""

import stat


class Archive:
    def __init__(self) -> None:
        self._data = bytearray()
        self._inode = 0

    def add_folder(self, name: str) -> None:
        self._add(name, stat.S_IFDIR | 0o755, b"")

    def add_file(self, name: str, content: bytes, *, executable: bool = False) -> None:
        self._add(name, stat.S_IFREG | (0o755 if executable else 0o644), content)

    def content(self) -> bytes:
        """Ends the archive and returns it."""
        self._add("TRAILER!!!", 0, b"")
        return bytes(self._data)

    def _add(self, name: str, mode: int, content: bytes) -> None:
        self._inode += 1
        encoded = name.encode() + b"\0"
        uid = gid = mtime = 0
        links = 1
        device = (0, 0, 0, 0)
        checksum = 0
        fields = (self._inode, mode, uid, gid, links, mtime, len(content), *device)
        header = "".join(f"{field:08x}" for field in (*fields, len(encoded), checksum))
        self._data += b"070701" + header.encode() + encoded
        self._pad()
        self._data += content
        self._pad()

    def _pad(self) -> None:
        self._data += bytes(-len(self._data) % 4)
