program main
  implicit none
  integer(8), allocatable :: all(:)
  allocate (all(2_8 ** 40))
  all = 1
  print *, all(7)
end program main
