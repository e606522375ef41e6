program unlucky
    implicit none
    print '(i0)', 6
    error stop 3
end program unlucky
