! @EXPECTED_RESULTS@: COMPILER-ERROR
program syntax
    implicit none
    s = 6
    print *, s
end program syntax
