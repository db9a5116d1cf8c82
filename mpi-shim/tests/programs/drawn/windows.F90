! Operations on the memory of other ranks, in each kind of epoch, as in windows.c: each rank has three in an epoch, with its own draws, and a place of its own in each rank's
! memory for each of them.
#include "binding.h"
module windows
  use shared
  implicit none
  private
  public :: window, end_windows
  enum, bind(C)
    enumerator :: PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP
  end enum
  enum, bind(C)
    enumerator :: FENCE_ALL, LOCK, LOCK_ALL, START
  end enum
  integer, parameter :: KINDS = 6, EPOCHS = 4, EACH = 3
  ! Of memory that the program has, or that MPI gives, to each rank or to all of one node; each of all ranks.
  enum, bind(C)
    enumerator :: CREATED, ALLOCATED, SHARED_BY_ALL
  end enum
  integer, parameter :: WINDOWS_IN_ALL = 3
  HANDLE(MPI_Win) :: all(0:WINDOWS_IN_ALL - 1)
  logical :: are_made(0:WINDOWS_IN_ALL - 1) = .false.
  integer, parameter :: LENGTH = RANKS_AT_MOST * EACH * BLOCK
  ! Aligned for all types.
  double precision, save :: memory(LENGTH / 8)
contains
  subroutine make(which)
    integer, intent(in) :: which
    integer(COUNT_KIND), parameter :: unit = 1
    integer(MPI_ADDRESS_KIND), parameter :: bytes = LENGTH
    HANDLE(MPI_Win) :: dynamic
#if BINDING == 3
    type(c_ptr) :: where
#else
    integer(MPI_ADDRESS_KIND) :: where
#endif
    are_made(which) = .true.
    select case (which)
    case (CREATED)
      call MPI_Win_create(memory, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, all(which), error)
      call write_down_counted('', 'Win_create', 0, 0)
      ! Its memory would come later.
      call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, dynamic, error)
      call write_down('', 'Win_create_dynamic', 0, 0)
      call MPI_Win_free(dynamic, error)
      call write_down('', 'Win_free', 0, 0)
    case (ALLOCATED)
      call MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, where, all(which), error)
      call write_down_counted('', 'Win_allocate', 0, 0)
    case default
      call MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, where, all(which), error)
      call write_down_counted('', 'Win_allocate_shared', 0, 0)
    end select
  end subroutine

  subroutine window(number)
    integer, intent(in) :: number
    HANDLE(MPI_Group) :: everyone
    HANDLE(MPI_Win) :: win
    integer :: epoch, round, which, locked, target, kind, i
    logical :: is_passive, is_over
    which = mod(place, WINDOWS_IN_ALL)
    call choose_communicator(0)
#ifdef OPEN_MPI
    ! 4.1 creates no window on a single rank, unless a network can be used for it.
    if (ranks == 1 .and. which == CREATED) which = ALLOCATED
#endif
    if (.not. are_made(which)) call make(which)
    win = all(which)
    epoch = mod(number, EPOCHS)
    round = number / EPOCHS
    is_passive = epoch == LOCK .or. epoch == LOCK_ALL
    call MPI_Win_get_group(win, everyone, error)
    locked = drawn(OF_ROOT, rank, 0, ranks)
    select case (epoch)
    case (FENCE_ALL); call fence(win)
    case (LOCK)
      call MPI_Win_lock(merge(MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE, drawn(OF_FORM, rank, 0, 2) == 1), locked, 0, win, error)
      call write_down('', 'Win_lock', 0, 0)
    case (LOCK_ALL)
      call MPI_Win_lock_all(0, win, error)
      call write_down('', 'Win_lock_all', 0, 0)
    case default
      call MPI_Win_post(everyone, 0, win, error)
      call write_down('', 'Win_post', 0, 0)
      call MPI_Win_start(everyone, 0, win, error)
      call write_down('', 'Win_start', 0, 0)
    end select
    do i = 0, EACH - 1
      kind = mod(EACH * round + i, KINDS)
      target = drawn(OF_PEER, rank, i, ranks + 1)
      if (target == ranks) then
        target = MPI_PROC_NULL
      else if (epoch == LOCK) then
        target = locked
      end if
      call operation(win, kind, is_passive .and. kind <= GET_ACCUMULATE .and. mod(round / 2, 2) == 1, target, i)
    end do
    select case (epoch)
    case (FENCE_ALL); call fence(win)
    case (LOCK)
      if (mod(round, 2) == 1) call MPI_Win_flush(locked, win, error)
      if (mod(round, 2) == 0) call MPI_Win_flush_local(locked, win, error)
      call write_down('', merge('Win_flush      ', 'Win_flush_local', mod(round, 2) == 1), 0, 0)
      call MPI_Win_unlock(locked, win, error)
      call write_down('', 'Win_unlock', 0, 0)
    case (LOCK_ALL)
      if (mod(round, 2) == 1) call MPI_Win_flush_all(win, error)
      if (mod(round, 2) == 0) call MPI_Win_flush_local_all(win, error)
      call write_down('', merge('Win_flush_all      ', 'Win_flush_local_all', mod(round, 2) == 1), 0, 0)
      call MPI_Win_sync(win, error)
      call write_down('', 'Win_sync', 0, 0)
      call MPI_Win_unlock_all(win, error)
      call write_down('', 'Win_unlock_all', 0, 0)
    case default
      call MPI_Win_complete(win, error)
      call write_down('', 'Win_complete', 0, 0)
      is_over = mod(round, 2) == 1
      if (is_over) call MPI_Win_wait(win, error)
      if (is_over) call write_down('', 'Win_wait', 0, 0)
      do while (.not. is_over)
        call MPI_Win_test(win, is_over, error)
        call write_down('', 'Win_test', 0, 0)
        call give_way
      end do
    end select
    call MPI_Group_free(everyone, error)
  end subroutine

  subroutine fence(win)
    HANDLE(MPI_Win), intent(in) :: win
    call MPI_Win_fence(0, win, error)
    call write_down('', 'Win_fence', 0, 0)
  end subroutine

  ! One operation with a rank, or with MPI_PROC_NULL.
  subroutine operation(win, kind, later, target, place)
    HANDLE(MPI_Win), intent(in) :: win
    integer, intent(in) :: kind, target, place
    logical, intent(in) :: later
    character(16), parameter :: names(0:KINDS - 1) = [character(16) :: 'Put', 'Get', 'Accumulate', 'Get_accumulate', 'Fetch_and_op', 'Compare_and_swap']
    ! All but characters can be added.
    integer, parameter :: can_be_added(0:2) = [0, 1, 3]
    integer, save :: compared(2) = 0, results(BLOCK / 4, 0:EACH - 1)
    HANDLE(MPI_Datatype) :: type, single
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Request) :: request
    integer(COUNT_KIND) :: n
    integer :: t, s, bytes, sent, received
    integer(MPI_ADDRESS_KIND) :: there
    logical :: only_reads
    t = can_be_added(drawn(OF_TYPE, rank, place, 3))
    s = mod(mod(t, 3), 2)
    type = types(t)
    single = types(s)
    n = elements(rank, place)
    there = (rank * EACH + place) * BLOCK
    ! With MPI_NO_OP nothing goes there.
    only_reads = drawn(OF_PLACE, rank, place, 2) == 1
    op = MPI_SUM
    if (only_reads) op = MPI_NO_OP
    select case (merge(KINDS, 0, later) + kind)
    case (PUT); call MPI_Put(in, n, type, target, there, n, type, win, error)
    case (GET); call MPI_Get(results(1, place), n, type, target, there, n, type, win, error)
    case (ACCUMULATE); call MPI_Accumulate(in, n, type, target, there, n, type, MPI_SUM, win, error)
    case (GET_ACCUMULATE); call MPI_Get_accumulate(in, n, type, results(1, place), n, type, target, there, n, type, op, win, error)
    case (FETCH_AND_OP); call MPI_Fetch_and_op(in, results(1, place), single, target, there, op, win, error)
    case (COMPARE_AND_SWAP); call MPI_Compare_and_swap(in, compared, results(1, place), MPI_INTEGER, target, there, win, error)
    case (KINDS + PUT); call MPI_Rput(in, n, type, target, there, n, type, win, request, error)
    case (KINDS + GET); call MPI_Rget(results(1, place), n, type, target, there, n, type, win, request, error)
    case (KINDS + ACCUMULATE); call MPI_Raccumulate(in, n, type, target, there, n, type, MPI_SUM, win, request, error)
    case default; call MPI_Rget_accumulate(in, n, type, results(1, place), n, type, target, there, n, type, op, win, request, error)
    end select
    bytes = int(n) * sizes(t)
    if (kind == FETCH_AND_OP) bytes = sizes(s)
    if (kind == COMPARE_AND_SWAP) bytes = sizes(0)
    sent = bytes
    received = bytes
    if (kind == PUT .or. kind == ACCUMULATE) received = 0
    if (kind == GET .or. (only_reads .and. (kind == GET_ACCUMULATE .or. kind == FETCH_AND_OP))) sent = 0
    ! The new value and the one that is compared with.
    if (kind == COMPARE_AND_SWAP) sent = 2 * bytes
    if (target == MPI_PROC_NULL) sent = 0
    if (target == MPI_PROC_NULL) received = 0
    if (kind < FETCH_AND_OP) call write_down_counted(merge('R', ' ', later), names(kind), sent, received)
    if (kind >= FETCH_AND_OP) call write_down('', names(kind), sent, received)
    if (later) call wait_for(request)
  end subroutine

  subroutine end_windows
    integer :: i
    do i = 0, WINDOWS_IN_ALL - 1
      if (.not. are_made(i)) cycle
      call MPI_Win_free(all(i), error)
      call write_down('', 'Win_free', 0, 0)
    end do
  end subroutine
end module windows
