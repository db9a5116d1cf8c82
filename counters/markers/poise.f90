! Regions marked by hand, in Fortran: parts of a program that are call paths of their own, by name.
!
!     use poise
!     call poise_begin('solve')
!     call poise_end('solve')
!
! Compile this file with the program. Nothing needs to be linked: the runtime of Counterpoise is looked for in the process when
! the first mark is met; without it, or when it does not measure, a mark is one branch that is never taken.
module poise
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: poise_begin, poise_end

  ! `struct poise_mark` of poise.h.
  type, bind(c) :: poise_mark
    type(c_ptr) :: name
    type(c_ptr) :: region
  end type poise_mark

  abstract interface
    subroutine tell(mark) bind(c)
      import :: poise_mark
      type(poise_mark), intent(inout) :: mark
    end subroutine tell
    function ask() bind(c) result(answer)
      import :: c_int
      integer(c_int) :: answer
    end function ask
  end interface

  interface
    function dlsym(library, name) bind(c) result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function dlsym
  end interface

  integer, parameter :: unknown = 0, off = 1, on = 2
  ! Threads that look for the runtime at once find the same.
  integer :: state = unknown
  procedure(tell), pointer :: tell_begin => null(), tell_end => null()

contains

  subroutine poise_begin(name)
    character(len=*), intent(in) :: name
    if (state == off) return
    if (state == unknown) call look
    if (state == on) call told(tell_begin, name)
  end subroutine poise_begin

  subroutine poise_end(name)
    character(len=*), intent(in) :: name
    if (state == off) return
    if (state == unknown) call look
    if (state == on) call told(tell_end, name)
  end subroutine poise_end

  subroutine told(function, name)
    procedure(tell), pointer, intent(in) :: function
    character(len=*), intent(in) :: name
    character(kind=c_char), target :: text(256)
    type(poise_mark) :: mark
    integer :: i, length
    ! Blanks at the end are padding; longer names are cut.
    length = min(len_trim(name), size(text) - 1)
    do i = 1, length
      text(i) = name(i:i)
    end do
    text(length + 1) = c_null_char
    mark%name = c_loc(text)
    mark%region = c_null_ptr
    call function(mark)
  end subroutine told

  subroutine look
    procedure(ask), pointer :: measures
    type(c_funptr) :: address
    address = dlsym(c_null_ptr, 'poise_active' // c_null_char)
    if (.not. c_associated(address)) then
      state = off
      return
    end if
    call c_f_procpointer(address, measures)
    if (measures() == 0) then
      state = off
      return
    end if
    call c_f_procpointer(dlsym(c_null_ptr, 'poise_region_begin' // c_null_char), tell_begin)
    call c_f_procpointer(dlsym(c_null_ptr, 'poise_region_end' // c_null_char), tell_end)
    if (associated(tell_begin) .and. associated(tell_end)) then
      state = on
    else
      state = off
    end if
  end subroutine look

end module poise
