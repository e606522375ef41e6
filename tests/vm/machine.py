"""Runs the emulated machine, shows its console, and returns the status of each step."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

KERNEL_OPTIONS = (
    "console=ttyS0 loglevel=4 cgroup_no_v1=all panic=-1 oops=panic nowatchdog mitigations=off"
    # Read by systemd, if that is the first program; nobody sits at the console.
    " systemd.firstboot=no systemd.getty_auto=no systemd.show_status=no"
    " systemd.default_timeout_start_sec=900"
)
RESULT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Machine:
    kernel: Path
    initramfs: Path
    disks: dict[str, Path]
    """Serial → image; changes by the machine are discarded."""
    folder: Path

    def run(self) -> dict[str, int]:
        """Returns the exit status of each step; after a kernel panic some are missing."""
        result = self.folder / "result"
        result.write_bytes(bytes(RESULT_BYTES))
        environment = os.environ | {"TMPDIR": str(self.folder)}
        with subprocess.Popen(
            self._command(result), stdin=subprocess.DEVNULL, stdout=sys.stdout, env=environment
        ) as emulator:
            try:
                emulator.wait()
            finally:
                emulator.kill()
        lines = result.read_bytes().rstrip(b"\0").decode().splitlines()
        return {name: int(status) for name, status in (line.split() for line in lines)}

    def _command(self, result: Path) -> list[str]:
        command = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64"]
        command += ["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "4096"]
        command += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        command += ["-serial", "stdio", "-kernel", str(self.kernel)]
        command += ["-initrd", str(self.initramfs), "-append", KERNEL_OPTIONS]
        for serial, image in self.disks.items():
            command += _drive(serial, image, "snapshot=on,cache=unsafe")
        return command + _drive("result", result, "cache=writeback")


def _drive(serial: str, image: Path, options: str) -> list[str]:
    escaped = str(image).replace(",", ",,")
    drive = f"id={serial},if=none,format=raw,{options},file={escaped}"
    return ["-drive", drive, "-device", f"virtio-blk-pci,drive={serial},serial={serial}"]
