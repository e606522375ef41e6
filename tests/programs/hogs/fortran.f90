program main
  implicit none
  type link
    integer :: content(16384)
    type(link), pointer :: next
  end type link
  type(link), pointer :: first, added
  nullify (first)
  do
    allocate (added)
    added%content = 1
    added%next => first
    first => added
  end do
end program main
