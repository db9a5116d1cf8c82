! What the families of drawn operations in Fortran share, as drawn.h for those in C.
#include "binding.h"
module shared
#if BINDING == 2
  use mpi
#elif BINDING == 3
  use mpi_f08
#endif
  use draws
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
  private :: own
  ! Of counts and displacements.
#ifdef LARGE
  integer, parameter :: COUNT_KIND = MPI_COUNT_KIND, PLACE_KIND = MPI_ADDRESS_KIND
#else
  integer, parameter :: COUNT_KIND = kind(0), PLACE_KIND = kind(0)
#endif
  integer, parameter :: sizes(0:TYPES_IN_ALL - 1) = [4, 8, 1, 24]
  ! Bytes from the first to the last of a block, and integers of two blocks for each rank.
  integer, parameter :: BLOCK = 48 * ELEMENTS_AT_MOST, ROOM = 2 * RANKS_AT_MOST * BLOCK / 4
  ! All elements that a receive may bring.
  integer(COUNT_KIND), parameter :: MOST = ELEMENTS_AT_MOST
  integer, target, save :: in(ROOM), out(ROOM)
  HANDLE(MPI_Comm) :: comms(0:COMMS_IN_ALL - 1)
  HANDLE(MPI_Datatype) :: types(0:TYPES_IN_ALL - 1)
  ! This turn's communicator, its place among them, the rank in it and those beside it.
  HANDLE(MPI_Comm) :: comm
  integer :: place, rank, ranks, next, before
  integer :: error
  ! This turn's statuses: the program's own, or those that stand for none.
#if BINDING == 3
  type(MPI_Status), pointer :: status, statuses(:)
  type(MPI_Status), target :: own(2)
#else
  integer, pointer, contiguous :: status(:), statuses(:, :)
  integer, target :: own(MPI_STATUS_SIZE, 2)
#endif
contains
  subroutine choose_communicator(which)
    integer, intent(in) :: which
    place = which
    comm = comms(place)
    call MPI_Comm_rank(comm, rank, error)
    call MPI_Comm_size(comm, ranks, error)
    next = mod(rank + 1, ranks)
    before = mod(rank + ranks - 1, ranks)
  end subroutine

  ! MPI knows those that stand for none by their addresses.
  subroutine choose_statuses(are_own)
    logical, intent(in) :: are_own
    type(c_ptr) :: one, several
    one = transfer(merge(loc(own), loc(MPI_STATUS_IGNORE), are_own), c_null_ptr)
    several = transfer(merge(loc(own), loc(MPI_STATUSES_IGNORE), are_own), c_null_ptr)
#if BINDING == 3
    call c_f_pointer(one, status)
    call c_f_pointer(several, statuses, [2])
#else
    call c_f_pointer(one, status, [MPI_STATUS_SIZE])
    call c_f_pointer(several, statuses, [MPI_STATUS_SIZE, 2])
#endif
  end subroutine

  subroutine wait_for(request)
    HANDLE(MPI_Request), intent(inout) :: request
    call MPI_Wait(request, status, error)
    call write_down('', 'Wait', 0, 0)
  end subroutine

  ! Completes what was called in one of the ways, which is written down with the operation.
  subroutine finish(way, starts, request)
    integer, intent(in) :: way, starts
    HANDLE(MPI_Request), intent(inout) :: request
    integer :: i
    do i = 1, merge(0, starts, way == BLOCKING)
      if (way == PERSISTENT) call MPI_Start(request, error)
      call MPI_Wait(request, status, error)
    end do
    if (way == PERSISTENT) call MPI_Request_free(request, error)
  end subroutine
end module shared
