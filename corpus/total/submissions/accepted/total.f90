program total
    implicit none
    integer :: n, i, x
    integer(8) :: s
    read *, n
    s = 0
    do i = 1, n
        read *, x
        s = s + x
    end do
    print '(i0)', s
end program total
