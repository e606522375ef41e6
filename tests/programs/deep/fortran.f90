program main
  implicit none
  print '(i0)', depth(1000000)
contains
  recursive function depth(n) result(found)
    integer, intent(in) :: n
    integer :: found
    if (n == 0) then
      found = 0
    else
      found = 1 + depth(n - 1)
    end if
  end function depth
end program main
