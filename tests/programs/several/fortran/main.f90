program main
  use adder
  implicit none
  print '(i0)', add(40, 2)
end program main
