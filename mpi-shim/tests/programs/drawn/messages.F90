! Messages to the next rank, from the one before, whose count is its own draw, in the modes and ways of messages.c.
#include "binding.h"
module messages
  use shared
  implicit none
  private
  public :: message
#ifdef OPEN_MPI
  integer, parameter :: WAYS = 9
#else
  integer, parameter :: WAYS = 11
#endif
  HANDLE(MPI_Datatype) :: type
  ! Of the receive and of the send, and the bytes that the first one brings.
  HANDLE(MPI_Request) :: requests(2)
  integer :: comes
contains
  subroutine message(number)
    integer, intent(in) :: number
    integer :: t, n, way
    logical :: all
    way = mod(number, WAYS)
    all = mod(number / 12, 2) == 1
    ! Derived types MPICH 4.0 gives up each time that an exchange of one request ends.
    t = drawn(OF_TYPE, 0, 0, merge(3, TYPES_IN_ALL, way == ISENDRECV))
    type = types(t)
    n = elements(rank, 0)
    comes = elements(before, 0) * sizes(t)
    requests = MPI_REQUEST_NULL
    if (mod(number, 10) == 9) call cancel
    select case (way)
    case (SENDRECV, SENDRECV_REPLACE); call exchange(n, way == SENDRECV_REPLACE, sizes(t))
#ifndef OPEN_MPI
    case (ISENDRECV)
      call start_exchange(n, mod(number / WAYS, 2) == 1, sizes(t))
      call end(number)
    case (PARTITIONED); call message_in_parts(all, sizes(t))
#endif
    case default; call one(number, way, n, all, n * sizes(t))
    end select
  end subroutine

  ! A receive that nobody sends to.
  subroutine cancel
    HANDLE(MPI_Request) :: request
    call MPI_Irecv(out, MOST, type, before, 2, comm, request, error)
    call write_down_counted('', 'Irecv', 0, 0)
    call MPI_Cancel(request, error)
    call write_down('', 'Cancel', 0, 0)
    call wait_for(request)
  end subroutine

  subroutine exchange(n, replaces, size)
    integer, intent(in) :: n, size
    logical, intent(in) :: replaces
    integer(COUNT_KIND) :: length
    ! What replaces what was sent has its length.
    length = merge(elements(0, 0), n, replaces)
    if (replaces) comes = int(length) * size
    if (replaces) then
      call MPI_Sendrecv_replace(out, length, type, next, 1, before, 1, comm, status, error)
    else
      call MPI_Sendrecv(in, length, type, next, 1, out, MOST, type, before, 1, comm, status, error)
    end if
    call write_down_counted('', merge('Sendrecv_replace', 'Sendrecv        ', replaces), int(length) * size, comes)
  end subroutine

#ifndef OPEN_MPI
  ! The same as one request. MPICH 4.0 does not say what came.
  subroutine start_exchange(n, replaces, size)
    integer, intent(in) :: n, size
    logical, intent(in) :: replaces
    integer(COUNT_KIND) :: length
    length = merge(elements(0, 0), n, replaces)
    if (replaces) then
      call MPI_Isendrecv_replace(out, length, type, next, 1, before, 1, comm, requests(2), error)
    else
      call MPI_Isendrecv(in, length, type, next, 1, out, MOST, type, before, 1, comm, requests(2), error)
    end if
    call write_down_counted('', merge('Isendrecv_replace', 'Isendrecv        ', replaces), int(length) * size, 0)
    comes = 0
  end subroutine

  ! A message in up to four parts, which are received in one or two; each of its sender's draws twice its parts' length.
  subroutine message_in_parts(all, size)
    logical, intent(in) :: all
    integer, intent(in) :: size
    integer :: to_parts, from_parts, halves, to, from, part, i
    integer(MPI_COUNT_KIND) :: length
    ! MPICH 4.0's module mpi takes it for a number.
#if BINDING == 2
#define IS_TRUE(FLAG) FLAG /= 0
    integer :: is_there
#else
#define IS_TRUE(FLAG) FLAG
    logical :: is_there
#endif
    to_parts = 1 + drawn(OF_FORM, rank, 0, 4)
    from_parts = 1 + drawn(OF_FORM, before, 0, 4)
    halves = 1 + drawn(OF_PLACE, rank, 0, 2)
    to = 2 * elements(rank, 0)
    from = 2 * from_parts * elements(before, 0)
    length = to
    call MPI_Psend_init(in, to_parts, length, type, next, 1, comm, MPI_INFO_NULL, requests(2), error)
    call write_down('', 'Psend_init', 0, 0)
    length = from / halves
    call MPI_Precv_init(out, halves, length, type, before, 1, comm, MPI_INFO_NULL, requests(1), error)
    call write_down('', 'Precv_init', 0, 0)
    do i = 0, 1
      call MPI_Start(requests(1), error)
      call write_down('', 'Start', 0, from * size)
      call start(2, all, to_parts * to * size)
      select case (drawn(OF_WHERE, rank, i, 3))
      case (0)
        do part = 0, to_parts - 1
          call MPI_Pready(part, requests(2), error)
          call write_down('', 'Pready', 0, 0)
        end do
      case (1)
        call MPI_Pready_range(0, to_parts - 1, requests(2), error)
        call write_down('', 'Pready_range', 0, 0)
      case default
        call MPI_Pready_list(to_parts, [0, 1, 2, 3], requests(2), error)
        call write_down('', 'Pready_list', 0, 0)
      end select
      do
        call MPI_Parrived(requests(1), halves - 1, is_there, error)
        call write_down('', 'Parrived', 0, 0)
        if (IS_TRUE(is_there)) exit
        call give_way
      end do
      ! MPICH 4.0's MPI_Testall takes no such requests.
      call MPI_Waitall(2, requests, statuses, error)
      call write_down('', 'Waitall', 0, 0)
    end do
    call free_requests
  end subroutine
#endif

  ! A message of one call to send it and one to receive it.
  subroutine one(number, planned, n, all, sent)
    integer, intent(in) :: number, planned, n, sent
    logical, intent(in) :: all
    integer :: mode, form, way
    mode = mod(number, 4)
    form = mod(number / 4, 3)
    way = planned
    ! What is not there before the message is sent would wait for it.
    if (form == 0 .or. mode == READY) way = mod(way, 2)
    if (way == IRECV) then
      call MPI_Irecv(out, MOST, type, before, 1, comm, requests(1), error)
      call write_down_counted('', 'Irecv', 0, 0)
    else if (way == RECV_INIT) then
      call MPI_Recv_init(out, MOST, type, before, 1, comm, requests(1), error)
      call write_down_counted('', 'Recv_init', 0, 0)
      call start(1, all, 0)
    end if
    if (mode == READY) then
      call MPI_Barrier(comm, error)
      call write_down('', 'Barrier', 0, 0)
    end if
    call send(mode, form, int(n, COUNT_KIND), sent)
    if (form == 2) call start(2, all, sent)
    if (way > RECV_INIT) call receive(way)
    call end(number)
    call free_requests
  end subroutine

  ! At once, later or prepared.
  subroutine send(mode, form, n, bytes)
    integer, intent(in) :: mode, form, bytes
    integer(COUNT_KIND), intent(in) :: n
    character(5), parameter :: modes(0:3) = ['Send ', 'Bsend', 'Ssend', 'Rsend']
    select case (4 * form + mode)
    case (0); call MPI_Send(in, n, type, next, 1, comm, error)
    case (1); call MPI_Bsend(in, n, type, next, 1, comm, error)
    case (2); call MPI_Ssend(in, n, type, next, 1, comm, error)
    case (3); call MPI_Rsend(in, n, type, next, 1, comm, error)
    case (4); call MPI_Isend(in, n, type, next, 1, comm, requests(2), error)
    case (5); call MPI_Ibsend(in, n, type, next, 1, comm, requests(2), error)
    case (6); call MPI_Issend(in, n, type, next, 1, comm, requests(2), error)
    case (7); call MPI_Irsend(in, n, type, next, 1, comm, requests(2), error)
    case (8); call MPI_Send_init(in, n, type, next, 1, comm, requests(2), error)
    case (9); call MPI_Bsend_init(in, n, type, next, 1, comm, requests(2), error)
    case (10); call MPI_Ssend_init(in, n, type, next, 1, comm, requests(2), error)
    case default; call MPI_Rsend_init(in, n, type, next, 1, comm, requests(2), error)
    end select
    if (form == 2) call write_down_counted('', trim(modes(mode))//'_init', 0, 0)
    if (form < 2) call write_down_counted(merge('I', ' ', form == 1), modes(mode), bytes, 0)
  end subroutine

  subroutine start(which, all, bytes)
    integer, intent(in) :: which, bytes
    logical, intent(in) :: all
    if (all) call MPI_Startall(1, requests(which:which), error)
    if (.not. all) call MPI_Start(requests(which), error)
    call write_down('', merge('Startall', 'Start   ', all), bytes, 0)
  end subroutine

  ! What was not there before.
  subroutine receive(way)
    integer, intent(in) :: way
    HANDLE(MPI_Message) :: found
    logical :: is_there
    is_there = .false.
    select case (way)
    case (PROBE)
      call MPI_Probe(before, 1, comm, status, error)
      call write_down('', 'Probe', 0, 0)
    case (MPROBE)
      call MPI_Mprobe(before, 1, comm, found, status, error)
      call write_down('', 'Mprobe', 0, 0)
    case (IPROBE, IMPROBE)
      do while (.not. is_there)
        if (way == IPROBE) call MPI_Iprobe(before, 1, comm, is_there, status, error)
        if (way == IMPROBE) call MPI_Improbe(before, 1, comm, is_there, found, status, error)
        call write_down('', merge('Improbe', 'Iprobe ', way == IMPROBE), 0, 0)
        call give_way
      end do
    end select
    select case (way)
    case (IMPROBE)
      call MPI_Imrecv(out, MOST, type, found, requests(1), error)
      call write_down_counted('', 'Imrecv', 0, 0)
      return
    case (MPROBE)
      call MPI_Mrecv(out, MOST, type, found, status, error)
      call write_down_counted('', 'Mrecv', 0, comes)
    case default
      call MPI_Recv(out, MOST, type, before, 1, comm, status, error)
      call write_down_counted('', 'Recv', 0, comes)
    end select
    comes = 0
  end subroutine

  ! Completes what was started, after asking for one of it now and then.
  subroutine end(number)
    integer, intent(in) :: number
    if (mod(number, 3) == 0) call ask
    call complete(mod(number / 2, 8))
  end subroutine

  ! Until the first of the requests is over; who asks completes nothing. Open MPI 4.1 says that none is to who ignores the status.
  subroutine ask
    integer :: first
    logical :: is_over
    first = merge(2, 1, requests(1) == MPI_REQUEST_NULL)
    is_over = requests(first) == MPI_REQUEST_NULL
    call choose_statuses(are_own=.true.)
    do while (.not. is_over)
      call MPI_Request_get_status(requests(first), is_over, status, error)
      call write_down('', 'Request_get_status', 0, 0)
      call give_way
    end do
  end subroutine

  ! A call that completes requests brings what the first one does, if that is among them.
  subroutine complete(how)
    integer, intent(in) :: how
    character(8), parameter :: names(0:7) = ['Wait    ', 'Test    ', 'Waitall ', 'Testall ', 'Waitany ', 'Testany ', 'Waitsome', 'Testsome']
    integer :: left, i, done, places(2)
    logical :: is_over
    left = merge(0, 1, requests(1) == MPI_REQUEST_NULL) + merge(0, 1, requests(2) == MPI_REQUEST_NULL)
    do while (left > 0)
      ! The places of what this call completes.
      places = [1, 2]
      done = left
      if (how < 2) then
        done = 1
        if (left == 1 .and. .not. requests(2) == MPI_REQUEST_NULL) places(1) = 2
      end if
      is_over = .true.
      i = places(1)
      select case (how)
      case (0); call MPI_Wait(requests(i), status, error)
      case (1); call MPI_Test(requests(i), is_over, status, error)
      case (2); call MPI_Waitall(2, requests, statuses, error)
      case (3); call MPI_Testall(2, requests, is_over, statuses, error)
      case (4); call MPI_Waitany(2, requests, places(1), status, error)
      case (5); call MPI_Testany(2, requests, places(1), is_over, status, error)
      case (6); call MPI_Waitsome(2, requests, done, places, statuses, error)
      case default; call MPI_Testsome(2, requests, done, places, statuses, error)
      end select
#if BINDING == 3 && !defined(OPEN_MPI)
      ! MPICH 4.0's module mpi_f08 counts from 0 here (pmodels/mpich#6270).
      if (how > 3) places = places + 1
#endif
      if (how == 4 .or. how == 5) done = 1
      if (.not. is_over) done = 0
      call write_down('', names(how), 0, merge(comes, 0, any(places(:done) == 1)))
      left = left - done
      call give_way
    end do
  end subroutine

  subroutine free_requests
    integer :: i
    do i = 1, 2
      if (requests(i) == MPI_REQUEST_NULL) cycle
      call MPI_Request_free(requests(i), error)
      call write_down('', 'Request_free', 0, 0)
    end do
  end subroutine
end module messages
