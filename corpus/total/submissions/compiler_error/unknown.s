# @EXPECTED_RESULTS@: COMPILER-ERROR
        .globl  _start
_start: jump    nowhere, %eax
