program hog
    implicit none
    integer :: n, i
    type piece
        integer, allocatable :: words(:)
    end type piece
    type(piece), allocatable :: memory(:)
    read *, n
    allocate (memory(n))
    do i = 1, n
        allocate (memory(i)%words(262144))
        memory(i)%words = i
    end do
    print '(i0)', size(memory)
end program hog
