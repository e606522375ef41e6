"""The toolchains of this machine, looked for once in each process of a run."""

from deemster.programs.build.toolchain import Toolchains

TOOLCHAINS = Toolchains()
