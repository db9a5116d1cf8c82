! Reads and writes of a file, in each form, as in files.c: what is written counts as sent, what is read as received, with what there is of it until the file's end.
#include "binding.h"
module files
  use shared
  implicit none
  private
  public :: file, end_files
  enum, bind(C)
    enumerator :: AT, AT_ALL, OWN, ALL, SHARED_ONE, ORDERED, I_AT, I_AT_ALL, I_OWN, I_ALL, I_SHARED_ONE, TWICE_AT_ALL, TWICE_ALL, TWICE_ORDERED, FORMS
  end enum
  character(8), parameter :: ways(0:FORMS - 1) = [character(8) :: '_at', '_at_all', '', '_all', '_shared', '_ordered', '_at', '_at_all', '', '_all', '_shared', &
                                                  '_at_all', '_all', '_ordered']
  ! More than a rank reads or writes at once, and the file.
  integer, parameter :: ROOM_OF_RANK = 256, LENGTH = RANKS_AT_MOST * ROOM_OF_RANK
  HANDLE(MPI_File) :: handles(0:COMMS_IN_ALL - 1)
  logical :: are_open(0:COMMS_IN_ALL - 1) = .false.
  character(16) :: names(0:COMMS_IN_ALL - 1)
contains
  ! Each communicator has a file of its own.
  subroutine make
    integer(COUNT_KIND), parameter :: one = 1
    integer(MPI_OFFSET_KIND) :: size
    integer :: me, first
    logical :: preallocates
    call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
    call MPI_Allreduce(me, first, one, MPI_INTEGER, MPI_MIN, comm, error)
    call write_down_counted('', 'Allreduce', 4, 4)
    write (names(place), '(a, i0, a, i0)') 'file-', place, '-', first
    call MPI_File_open(comm, names(place), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, handles(place), error)
    call write_down('', 'File_open', 0, 0)
    are_open(place) = .true.
    size = LENGTH
    preallocates = .true.
#ifdef OPEN_MPI
    ! In 4.1 it makes a file longer than it was asked for, and with several ranks now and then does not end.
    preallocates = ranks == 1
#endif
    if (preallocates) call MPI_File_preallocate(handles(place), size, error)
    if (preallocates) call write_down('', 'File_preallocate', 0, 0)
    call MPI_File_set_size(handles(place), size, error)
    call write_down('', 'File_set_size', 0, 0)
    call MPI_File_get_size(handles(place), size, error)
    call write_down('', 'File_get_size', 0, 0)
    call MPI_File_set_view(handles(place), 0_MPI_OFFSET_KIND, MPI_BYTE, MPI_BYTE, 'native', MPI_INFO_NULL, error)
    call write_down('', 'File_set_view', 0, 0)
    call MPI_File_set_info(handles(place), MPI_INFO_NULL, error)
    call write_down('', 'File_set_info', 0, 0)
    call MPI_File_set_atomicity(handles(place), .false., error)
    call write_down('', 'File_set_atomicity', 0, 0)
  end subroutine

  subroutine file(number)
    integer, intent(in) :: number
    integer :: form, t, n, asked, there
    integer(MPI_OFFSET_KIND) :: offset, found
    logical :: reads, is_shared, may_be_short
    if (.not. are_open(place)) call make
    form = mod(number / 2, FORMS)
    reads = mod(number, 2) == 1
#ifdef OPEN_MPI
    ! This one, in 4.1, now and then does not end.
    if (form == TWICE_ORDERED) reads = .false.
#endif
    t = drawn(OF_TYPE, 0, 0, TYPES_IN_ALL)
    n = elements(rank, 0)
    is_shared = any(form == [SHARED_ONE, I_SHARED_ONE, ORDERED, TWICE_ORDERED])
    ! Which reads may begin up to a little behind the file's end, files.c says. Each rank writes where no other does.
    may_be_short = (form == AT .or. form == OWN) .and. t < 3
    asked = n * sizes(t)
    if (reads) then
      offset = drawn(OF_WHERE, rank, 0, merge(LENGTH + 100, LENGTH - ROOM_OF_RANK, may_be_short))
    else
      offset = rank * ROOM_OF_RANK + drawn(OF_WHERE, rank, 0, ROOM_OF_RANK - asked)
    end if
    there = asked
    if (.not. is_shared) there = max(0, min(asked, LENGTH - int(offset)))
    if (is_shared) then
      call MPI_File_seek_shared(handles(place), 0_MPI_OFFSET_KIND, MPI_SEEK_SET, error)
      call write_down('', 'File_seek_shared', 0, 0)
      call MPI_File_get_position_shared(handles(place), found, error)
      call write_down('', 'File_get_position_shared', 0, 0)
    else if (any(form == [OWN, ALL, I_OWN, I_ALL, TWICE_ALL])) then
      call MPI_File_seek(handles(place), offset, MPI_SEEK_SET, error)
      call write_down('', 'File_seek', 0, 0)
    end if
    call move(handles(place), merge(FORMS, 0, reads) + form, offset, n, types(t))
    call note(form, reads, merge(0, asked, reads), merge(there, 0, reads))
    if (form >= I_AT .and. form <= I_SHARED_ONE) call write_down('', 'Wait', 0, 0)
  end subroutine

  subroutine move(handle, form, offset, n, type)
    HANDLE(MPI_File), intent(in) :: handle
    integer, intent(in) :: form, n
    integer(MPI_OFFSET_KIND), intent(in) :: offset
    HANDLE(MPI_Datatype), intent(in) :: type
    HANDLE(MPI_Request) :: request
    request = MPI_REQUEST_NULL
    select case (form)
    case (AT); call MPI_File_write_at(handle, offset, in, n, type, status, error)
    case (FORMS + AT); call MPI_File_read_at(handle, offset, out, n, type, status, error)
    case (AT_ALL); call MPI_File_write_at_all(handle, offset, in, n, type, status, error)
    case (FORMS + AT_ALL); call MPI_File_read_at_all(handle, offset, out, n, type, status, error)
    case (OWN); call MPI_File_write(handle, in, n, type, status, error)
    case (FORMS + OWN); call MPI_File_read(handle, out, n, type, status, error)
    case (ALL); call MPI_File_write_all(handle, in, n, type, status, error)
    case (FORMS + ALL); call MPI_File_read_all(handle, out, n, type, status, error)
    case (SHARED_ONE); call MPI_File_write_shared(handle, in, n, type, status, error)
    case (FORMS + SHARED_ONE); call MPI_File_read_shared(handle, out, n, type, status, error)
    case (ORDERED); call MPI_File_write_ordered(handle, in, n, type, status, error)
    case (FORMS + ORDERED); call MPI_File_read_ordered(handle, out, n, type, status, error)
    case (I_AT); call MPI_File_iwrite_at(handle, offset, in, n, type, request, error)
    case (FORMS + I_AT); call MPI_File_iread_at(handle, offset, out, n, type, request, error)
    case (I_AT_ALL); call MPI_File_iwrite_at_all(handle, offset, in, n, type, request, error)
    case (FORMS + I_AT_ALL); call MPI_File_iread_at_all(handle, offset, out, n, type, request, error)
    case (I_OWN); call MPI_File_iwrite(handle, in, n, type, request, error)
    case (FORMS + I_OWN); call MPI_File_iread(handle, out, n, type, request, error)
    case (I_ALL); call MPI_File_iwrite_all(handle, in, n, type, request, error)
    case (FORMS + I_ALL); call MPI_File_iread_all(handle, out, n, type, request, error)
    case (I_SHARED_ONE); call MPI_File_iwrite_shared(handle, in, n, type, request, error)
    case (FORMS + I_SHARED_ONE); call MPI_File_iread_shared(handle, out, n, type, request, error)
    case (TWICE_AT_ALL); call MPI_File_write_at_all_begin(handle, offset, in, n, type, error)
    case (FORMS + TWICE_AT_ALL); call MPI_File_read_at_all_begin(handle, offset, out, n, type, error)
    case (TWICE_ALL); call MPI_File_write_all_begin(handle, in, n, type, error)
    case (FORMS + TWICE_ALL); call MPI_File_read_all_begin(handle, out, n, type, error)
    case (TWICE_ORDERED); call MPI_File_write_ordered_begin(handle, in, n, type, error)
    case (FORMS + TWICE_ORDERED); call MPI_File_read_ordered_begin(handle, out, n, type, error)
    end select
    select case (form)
    case (TWICE_AT_ALL); call MPI_File_write_at_all_end(handle, in, status, error)
    case (FORMS + TWICE_AT_ALL); call MPI_File_read_at_all_end(handle, out, status, error)
    case (TWICE_ALL); call MPI_File_write_all_end(handle, in, status, error)
    case (FORMS + TWICE_ALL); call MPI_File_read_all_end(handle, out, status, error)
    case (TWICE_ORDERED); call MPI_File_write_ordered_end(handle, in, status, error)
    case (FORMS + TWICE_ORDERED); call MPI_File_read_ordered_end(handle, out, status, error)
    end select
    if (.not. request == MPI_REQUEST_NULL) call MPI_Wait(request, status, error)
  end subroutine

  ! The calls of an access; one of two calls reads in the second and writes in the first.
  subroutine note(form, reads, written, got)
    integer, intent(in) :: form, written, got
    logical, intent(in) :: reads
    character(14) :: name
    name = merge('Read ', 'Write', reads)
    name = trim(name)//ways(form)
    if (form < TWICE_AT_ALL) then
      call write_down(merge('File_i', 'File_ ', form >= I_AT), name, written, got)
    else
      call write_down('File_', trim(name)//'_begin', written, 0)
      call write_down('File_', trim(name)//'_end', 0, got)
    end if
  end subroutine

  subroutine end_files
    integer :: i
    do i = 0, COMMS_IN_ALL - 1
      if (.not. are_open(i)) cycle
      call MPI_File_sync(handles(i), error)
      call write_down('', 'File_sync', 0, 0)
      call MPI_File_close(handles(i), error)
      call write_down('', 'File_close', 0, 0)
      call choose_communicator(i)
      if (rank > 0) cycle
      call MPI_File_delete(names(i), MPI_INFO_NULL, error)
      call write_down('', 'File_delete', 0, 0)
    end do
  end subroutine
end module files
