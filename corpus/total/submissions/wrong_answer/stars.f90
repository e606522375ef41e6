program stars
    implicit none
    integer :: n
    read *, n
    print '(i1)', 91
end program stars
