! Communicators of a drawn one, in each way to make them. Over the new one goes an allreduce, or an allgather between two groups.
#include "binding.h"
module communicators
  use shared
  implicit none
  private
  public :: communicator
#ifdef OPEN_MPI
  integer, parameter :: WAYS = 12
#else
  integer, parameter :: WAYS = 15
#endif
  integer(COUNT_KIND), parameter :: ONE = 1
contains
  subroutine communicator(number)
    integer, intent(in) :: number
    HANDLE(MPI_Comm) :: new
    HANDLE(MPI_Request) :: request
    integer :: sum
    new = MPI_COMM_NULL
    select case (mod(number, WAYS))
    case (0); call MPI_Comm_dup(comm, new, error)
    case (1); call MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, new, error)
    case (2)
      call MPI_Comm_idup(comm, new, request, error)
      call wait_for(request)
    case (3, 4); call make_of_group(mod(number, WAYS) == 4, new)
    case (5); call MPI_Comm_split(comm, drawn(OF_PLACE, rank, 0, 2), drawn(OF_WHERE, rank, 0, 3), new, error)
    case (6); call MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, new, error)
    case (7); call MPI_Cart_create(comm, 2, [ranks, 1], [.true., .false.], .false., new, error)
    case (8); call make_part_of_grid(new)
    case (9); call make_ring(new)
    case (10)
#ifdef OPEN_MPI
      ! On parts beside each other, in 4.1, it now and then does not end.
      call choose_communicator(0)
#endif
      call MPI_Dist_graph_create(comm, 1, [rank], [1], [next], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., new, error)
    case (11); call make_of_two_groups(new)
#ifndef OPEN_MPI
    case (12)
      call MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, new, request, error)
      call wait_for(request)
    case (13); call make_of_session(new)
    case (14); call make_of_groups(new)
#endif
    end select
    call note(mod(number, WAYS))
    if (new == MPI_COMM_NULL) return
    call MPI_Allreduce(rank, sum, ONE, MPI_INTEGER, MPI_SUM, new, error)
    call write_down_counted('', 'Allreduce', 4, 4)
    call free(new)
  end subroutine

  subroutine note(way)
    integer, intent(in) :: way
    character(19), parameter :: names(0:12) = [character(19) :: 'Comm_dup', 'Comm_dup_with_info', 'Comm_idup', '', '', 'Comm_split', 'Comm_split_type', &
                                               'Cart_create', '', 'Graph_create', 'Dist_graph_create', '', 'Comm_idup_with_info']
    if (way > 12) return
    if (names(way) /= '') call write_down('', names(way), 0, 0)
  end subroutine

  subroutine free(new)
    HANDLE(MPI_Comm), intent(inout) :: new
    logical :: disconnects
    disconnects = drawn(OF_FORM, 0, 0, 2) == 1
    if (disconnects) call MPI_Comm_disconnect(new, error)
    if (.not. disconnects) call MPI_Comm_free(new, error)
    call write_down('', merge('Comm_disconnect', 'Comm_free      ', disconnects), 0, 0)
  end subroutine

  ! Of the first ranks, up to a drawn one.
  subroutine make_of_group(alone, new)
    logical, intent(in) :: alone
    HANDLE(MPI_Comm), intent(out) :: new
    HANDLE(MPI_Group) :: all, some
    integer :: last, ranges(3, 1)
    last = drawn(OF_ROOT, 0, 0, ranks)
    ranges(:, 1) = [0, last, 1]
    new = MPI_COMM_NULL
    call MPI_Comm_group(comm, all, error)
    call MPI_Group_range_incl(all, 1, ranges, some, error)
    if (.not. alone) then
      call MPI_Comm_create(comm, some, new, error)
      call write_down('', 'Comm_create', 0, 0)
    else if (rank <= last) then
      call MPI_Comm_create_group(comm, some, 7, new, error)
      call write_down('', 'Comm_create_group', 0, 0)
    end if
    call MPI_Group_free(some, error)
    call MPI_Group_free(all, error)
  end subroutine

  ! The rows of a grid of two columns, or of one where ranks are odd.
  subroutine make_part_of_grid(new)
    HANDLE(MPI_Comm), intent(out) :: new
    HANDLE(MPI_Comm) :: grid
    integer :: columns
    columns = 2 - mod(ranks, 2)
    call MPI_Cart_create(comm, 2, [ranks / columns, columns], [.false., .true.], .false., grid, error)
    call write_down('', 'Cart_create', 0, 0)
    call MPI_Cart_sub(grid, [.false., .true.], new, error)
    call write_down('', 'Cart_sub', 0, 0)
    call free(grid)
  end subroutine

  subroutine make_ring(new)
    HANDLE(MPI_Comm), intent(out) :: new
    integer :: i, ends(ranks), others(2 * ranks)
    ends = [(2 * i, i = 1, ranks)]
    others = [(mod(i + ranks - 1, ranks), mod(i + 1, ranks), i = 0, ranks - 1)]
    call MPI_Graph_create(comm, ranks, ends, others, .false., new, error)
  end subroutine

  ! Even and odd ranks, and both of them again.
  subroutine make_of_two_groups(new)
    HANDLE(MPI_Comm), intent(out) :: new
    HANDLE(MPI_Comm) :: half, between
    integer :: mine
    new = MPI_COMM_NULL
    call choose_communicator(0)
    if (ranks == 1) return
    mine = mod(rank, 2)
    call MPI_Comm_split(comm, mine, 0, half, error)
    call write_down('', 'Comm_split', 0, 0)
    call MPI_Intercomm_create(half, 0, comm, 1 - mine, 5, between, error)
    call write_down('', 'Intercomm_create', 0, 0)
    call exchange(between)
    call MPI_Intercomm_merge(between, mine == 1, new, error)
    call write_down('', 'Intercomm_merge', 0, 0)
    call free(between)
    call free(half)
  end subroutine

  ! From each to each of the other group go elements as many as its group draws.
  subroutine exchange(between)
    HANDLE(MPI_Comm), intent(in) :: between
    integer(COUNT_KIND) :: to, from
    integer :: mine, others, t
    mine = mod(rank, 2)
    others = (ranks + mine) / 2
    t = drawn(OF_TYPE, 0, 0, TYPES_IN_ALL)
    to = elements(mine, 0)
    from = elements(1 - mine, 0)
    call MPI_Allgather(in, to, types(t), out, from, types(t), between, error)
    call write_down_counted('', 'Allgather', others * int(to) * sizes(t), others * int(from) * sizes(t))
  end subroutine

#ifndef OPEN_MPI
  ! All ranks of the world, without its communicator.
  subroutine make_of_session(new)
    HANDLE(MPI_Comm), intent(out) :: new
    HANDLE(MPI_Session) :: session
    HANDLE(MPI_Group) :: all
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session, error)
    call write_down('', 'Session_init', 0, 0)
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', all, error)
    call MPI_Comm_create_from_group(all, 'drawn', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, new, error)
    call write_down('', 'Comm_create_from_group', 0, 0)
    call MPI_Group_free(all, error)
    call MPI_Session_finalize(session, error)
    call write_down('', 'Session_finalize', 0, 0)
  end subroutine

  ! Even and odd ranks again.
  subroutine make_of_groups(new)
    HANDLE(MPI_Comm), intent(out) :: new
    HANDLE(MPI_Comm) :: between
    HANDLE(MPI_Group) :: all, halves(0:1)
    integer :: mine, i, ranges(3, 1)
    new = MPI_COMM_NULL
    call choose_communicator(0)
    if (ranks == 1) return
    mine = mod(rank, 2)
    call MPI_Comm_group(comm, all, error)
    do i = 0, 1
      ranges(:, 1) = [i, ranks - 1, 2]
      call MPI_Group_range_incl(all, 1, ranges, halves(i), error)
    end do
    call MPI_Intercomm_create_from_groups(halves(mine), 0, halves(1 - mine), 0, 'halves', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, between, error)
    call write_down('', 'Intercomm_create_from_groups', 0, 0)
    call exchange(between)
    call free(between)
    call MPI_Group_free(halves(0), error)
    call MPI_Group_free(halves(1), error)
    call MPI_Group_free(all, error)
  end subroutine
#endif
end module communicators
