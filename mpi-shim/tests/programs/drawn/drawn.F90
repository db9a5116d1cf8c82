! Drawn operations as in main.c, through each of MPI's Fortran bindings, which are compiled in by BINDING: 1 mpif.h, 2 the module mpi, 3 the module mpi_f08.
#if BINDING == 3
#define HANDLE(KIND) type(KIND)
#else
#define HANDLE(KIND) integer
#endif
program main
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
  integer, parameter :: sizes(0:TYPES_IN_ALL - 1) = [4, 8, 1, 24]
  ! Bytes from the first to the last of a block, and integers of two blocks for each rank.
  integer, parameter :: BLOCK = 48 * ELEMENTS_AT_MOST, ROOM = 2 * RANKS_AT_MOST * BLOCK / 4
  HANDLE(MPI_Comm) :: comms(0:3), comm, line
  HANDLE(MPI_Datatype) :: types(0:TYPES_IN_ALL - 1), type
  HANDLE(MPI_Win) :: win
  HANDLE(MPI_File) :: file
  integer, target, save :: in(ROOM), out(ROOM)
  ! What others reach, aligned for all types.
  double precision, save :: memory(ROOM / 2)
  integer, allocatable :: neighbours(:)
  ! Of a message's receive and of its send, and the bytes that the first one brings.
  HANDLE(MPI_Request) :: requests(2)
  integer :: comes
  integer, save :: buffer(ROOM)
  integer :: rank, ranks, error, turn, turns, next, before
  integer(c_int64_t) :: seed
  logical :: wraps
  character(16) :: argument
#if BINDING == 3
  type(c_ptr) :: address
#endif
  call MPI_Init(error)
  call get_command_argument(1, argument)
  read (argument, *) seed
  call get_command_argument(2, argument)
  read (argument, *) turns
  in = 0
  call make
  do turn = 0, turns - 1
    call draw_for(seed, int(turn, c_int64_t))
    comm = comms(drawn(OF_COMM, 0, 0, 4))
    if (mod(turn, 8) == 2 .or. mod(turn, 8) == 4) comm = MPI_COMM_WORLD
    if (mod(turn, 8) == 6) comm = line
    call MPI_Comm_rank(comm, rank, error)
    call MPI_Comm_size(comm, ranks, error)
    next = mod(rank + 1, ranks)
    before = mod(rank + ranks - 1, ranks)
    select case (mod(turn, 8))
    case (0)
      call message(turn / 8)
    case (2)
      call window(turn / 8)
    case (4)
      call access(turn / 8)
    case (6)
      call neighbourhood(turn / 8)
    case default
      call collective(turn / 2)
    end select
  end do
  if (ranks_of_world() > 1) then
    call MPI_Win_free(win, error)
    call write_down('', 'Win_free', 0, 0)
  end if
#if BINDING == 3
  call MPI_Buffer_detach(address, turns, error)
#else
  call MPI_Buffer_detach(buffer, turns, error)
#endif
  call write_down('', 'Buffer_detach', 0, 0)
  call MPI_File_close(file, error)
  call write_down('', 'File_close', 0, 0)
  call print_ledger
  call MPI_Finalize(error)

contains

  integer function ranks_of_world()
    call MPI_Comm_size(MPI_COMM_WORLD, ranks_of_world, error)
  end function

  ! Communicators, types, a window and a file, which are all ranks', and a line of ranks that may be a ring.
  subroutine make
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    comms(0) = MPI_COMM_WORLD
    comms(1) = MPI_COMM_SELF
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, comms(2), error)
    call MPI_Comm_split(MPI_COMM_WORLD, merge(1, 0, 3 * rank < ranks), rank, comms(3), error)
    call write_down('', 'Comm_split', 0, 0)
    call write_down('', 'Comm_split', 0, 0)
    call draw_for(seed, -1_c_int64_t)
    wraps = drawn(OF_EDGE, 0, 0, 2) == 1
    neighbours = [mod(rank + ranks - 1, ranks), mod(rank + 1, ranks)]
    if (.not. wraps) neighbours = pack(neighbours, neighbours == [rank - 1, rank + 1])
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size(neighbours), neighbours, MPI_UNWEIGHTED, size(neighbours), neighbours, &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., line, error)
    call write_down('', 'Dist_graph_create_adjacent', 0, 0)
    types(0) = MPI_INTEGER
    types(1) = MPI_DOUBLE_PRECISION
    types(2) = MPI_CHARACTER
    call MPI_Type_vector(3, 2, 5, MPI_INTEGER, types(3), error)
    call MPI_Type_commit(types(3), error)
    call MPI_Buffer_attach(buffer, 4 * ROOM, error)
    ! Open MPI 4.1 creates no window on a single rank, unless a network can be used for it.
    if (ranks > 1) then
      call MPI_Win_create(memory, int(4 * ROOM, MPI_ADDRESS_KIND), 1, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
      call write_down('', 'Win_create', 0, 0)
    end if
    call MPI_File_open(MPI_COMM_WORLD, 'file', MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, error)
    call write_down('', 'File_open', 0, 0)
    call MPI_File_set_size(file, int(RANKS_AT_MOST * BLOCK, MPI_OFFSET_KIND), error)
    call write_down('', 'File_set_size', 0, 0)
  end subroutine

  ! To the next rank, from the one before, whose count is its own draw, in the modes and ways of messages.c.
  subroutine message(number)
    integer, intent(in) :: number
    integer :: t, n, mode, form, way
    logical :: all
    t = drawn(OF_TYPE, 0, 0, TYPES_IN_ALL)
    type = types(t)
    n = elements(rank, 0)
    comes = elements(before, 0) * sizes(t)
    mode = mod(number, 4)
    form = mod(number / 4, 3)
    way = mod(number, 9)
    all = mod(number / 12, 2) == 1
    requests = MPI_REQUEST_NULL
    if (way == SENDRECV) then
      call MPI_Sendrecv(in, n, type, next, 1, out, ELEMENTS_AT_MOST, type, before, 1, comm, MPI_STATUS_IGNORE, error)
      call write_down('', 'Sendrecv', n * sizes(t), comes)
      return
    else if (way == SENDRECV_REPLACE) then
      n = elements(0, 0)
      call MPI_Sendrecv_replace(out, n, type, next, 1, before, 1, comm, MPI_STATUS_IGNORE, error)
      call write_down('', 'Sendrecv_replace', n * sizes(t), n * sizes(t))
      return
    end if
    ! What is not there before the message is sent would wait for it.
    if (form == 0 .or. mode == READY) way = mod(way, 2)
    if (way == IRECV) then
      call MPI_Irecv(out, ELEMENTS_AT_MOST, type, before, 1, comm, requests(1), error)
      call write_down('', 'Irecv', 0, 0)
    else if (way == RECV_INIT) then
      call MPI_Recv_init(out, ELEMENTS_AT_MOST, type, before, 1, comm, requests(1), error)
      call write_down('', 'Recv_init', 0, 0)
      call start(1, all, 0)
    end if
    if (mode == READY) then
      call MPI_Barrier(comm, error)
      call write_down('', 'Barrier', 0, 0)
    end if
    call send(mode, form, n, n * sizes(t))
    if (form == 2) call start(2, all, n * sizes(t))
    if (way > RECV_INIT) call receive(way)
    if (mod(number, 3) == 0) call ask
    call complete(mod(number / 2, 8))
    do t = 1, 2
      if (requests(t) == MPI_REQUEST_NULL) cycle
      call MPI_Request_free(requests(t), error)
      call write_down('', 'Request_free', 0, 0)
    end do
  end subroutine

  ! At once, later or prepared.
  subroutine send(mode, form, n, bytes)
    integer, intent(in) :: mode, form, n, bytes
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
    if (form == 2) call write_down('', trim(modes(mode))//'_init', 0, 0)
    if (form < 2) call write_down(merge('I', ' ', form == 1), modes(mode), bytes, 0)
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
      call MPI_Probe(before, 1, comm, MPI_STATUS_IGNORE, error)
      call write_down('', 'Probe', 0, 0)
    case (MPROBE)
      call MPI_Mprobe(before, 1, comm, found, MPI_STATUS_IGNORE, error)
      call write_down('', 'Mprobe', 0, 0)
    case (IPROBE, IMPROBE)
      do while (.not. is_there)
        if (way == IPROBE) call MPI_Iprobe(before, 1, comm, is_there, MPI_STATUS_IGNORE, error)
        if (way == IMPROBE) call MPI_Improbe(before, 1, comm, is_there, found, MPI_STATUS_IGNORE, error)
        call write_down('', merge('Improbe', 'Iprobe ', way == IMPROBE), 0, 0)
        call give_way
      end do
    end select
    select case (way)
    case (IMPROBE)
      call MPI_Imrecv(out, ELEMENTS_AT_MOST, type, found, requests(1), error)
      call write_down('', 'Imrecv', 0, 0)
      return
    case (MPROBE)
      call MPI_Mrecv(out, ELEMENTS_AT_MOST, type, found, MPI_STATUS_IGNORE, error)
      call write_down('', 'Mrecv', 0, comes)
    case default
      call MPI_Recv(out, ELEMENTS_AT_MOST, type, before, 1, comm, MPI_STATUS_IGNORE, error)
      call write_down('', 'Recv', 0, comes)
    end select
    comes = 0
  end subroutine

  ! Until the first of the requests is over; who asks completes nothing. Open MPI 4.1 says that none is to who ignores the status.
  subroutine ask
#if BINDING == 3
    type(MPI_Status) :: status
#else
    integer :: status(MPI_STATUS_SIZE)
#endif
    integer :: first
    logical :: is_over
    first = merge(2, 1, requests(1) == MPI_REQUEST_NULL)
    is_over = requests(first) == MPI_REQUEST_NULL
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
      case (0); call MPI_Wait(requests(i), MPI_STATUS_IGNORE, error)
      case (1); call MPI_Test(requests(i), is_over, MPI_STATUS_IGNORE, error)
      case (2); call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
      case (3); call MPI_Testall(2, requests, is_over, MPI_STATUSES_IGNORE, error)
      case (4); call MPI_Waitany(2, requests, places(1), MPI_STATUS_IGNORE, error)
      case (5); call MPI_Testany(2, requests, places(1), is_over, MPI_STATUS_IGNORE, error)
      case (6); call MPI_Waitsome(2, requests, done, places, MPI_STATUSES_IGNORE, error)
      case default; call MPI_Testsome(2, requests, done, places, MPI_STATUSES_IGNORE, error)
      end select
#if BINDING == 3 && !defined(OPEN_MPI)
      ! MPICH 4.0's module mpi_f08 counts from 0 here.
      if (how > 3) places = places + 1
#endif
      if (how == 4 .or. how == 5) done = 1
      if (.not. is_over) done = 0
      call write_down('', names(how), 0, merge(comes, 0, any(places(:done) == 1)))
      left = left - done
      call give_way
    end do
  end subroutine

  subroutine collective(number)
    integer, intent(in) :: number
    type(plan) :: made
    integer, pointer, contiguous :: in_place(:), given(:), taken(:)
    call plan_collective(number, 2, rank, ranks, made)
#ifdef OPEN_MPI
    ! Its nonblocking one for Fortran, in 4.1, forgets the types before it needs them.
    if (made%kind == ALLTOALLW) made%way = 0
#endif
    type = types(made%type)
    given => in
    taken => out
    ! By its address, which is how MPI knows it.
    call c_f_pointer(transfer(loc(MPI_IN_PLACE), c_null_ptr), in_place, [1])
    if (made%is_in_place /= 0 .and. (made%kind == SCATTER .or. made%kind == SCATTERV)) then
      taken => in_place
    else if (made%is_in_place /= 0) then
      given => in_place
    end if
    call move(made, given, taken)
    call write_down_collective(made)
  end subroutine

  subroutine move(made, given, taken)
    type(plan), intent(in) :: made
    integer :: given(*), taken(*)
    HANDLE(MPI_Datatype) :: all(RANKS_AT_MOST)
    HANDLE(MPI_Request) :: request
    integer :: n, to(RANKS_AT_MOST), from(RANKS_AT_MOST), at(RANKS_AT_MOST), root, i
    n = made%count
    to = made%to
    from = made%from
    root = made%root
    all = type
    ! In elements; in bytes where each block has its own type.
    at = [(i * merge(BLOCK, ELEMENTS_AT_MOST, made%kind == ALLTOALLW), i = 0, RANKS_AT_MOST - 1)]
    if (made%way == 0) then
      select case (made%kind)
      case (BCAST); call MPI_Bcast(in, n, type, root, comm, error)
      case (GATHER); call MPI_Gather(given, n, type, out, n, type, root, comm, error)
      case (GATHERV); call MPI_Gatherv(given, to(root + 1), type, out, from, at, type, root, comm, error)
      case (SCATTER); call MPI_Scatter(in, n, type, taken, n, type, root, comm, error)
      case (SCATTERV); call MPI_Scatterv(in, to, at, type, taken, from(root + 1), type, root, comm, error)
      case (ALLGATHER); call MPI_Allgather(given, n, type, out, n, type, comm, error)
      case (ALLGATHERV); call MPI_Allgatherv(given, to(1), type, out, from, at, type, comm, error)
      case (ALLTOALL); call MPI_Alltoall(given, n, type, out, n, type, comm, error)
      case (ALLTOALLV); call MPI_Alltoallv(given, to, at, type, out, from, at, type, comm, error)
      case (ALLTOALLW); call MPI_Alltoallw(given, to, at, all, out, from, at, all, comm, error)
      case (REDUCE); call MPI_Reduce(given, out, n, type, MPI_SUM, root, comm, error)
      case (ALLREDUCE); call MPI_Allreduce(given, out, n, type, MPI_SUM, comm, error)
      case (REDUCE_SCATTER); call MPI_Reduce_scatter(given, out, from, type, MPI_SUM, comm, error)
      case (REDUCE_SCATTER_BLOCK); call MPI_Reduce_scatter_block(given, out, n, type, MPI_SUM, comm, error)
      case (SCAN); call MPI_Scan(given, out, n, type, MPI_SUM, comm, error)
      case (EXSCAN); call MPI_Exscan(given, out, n, type, MPI_SUM, comm, error)
      case default; call MPI_Barrier(comm, error)
      end select
      return
    end if
    select case (made%kind)
    case (BCAST); call MPI_Ibcast(in, n, type, root, comm, request, error)
    case (GATHER); call MPI_Igather(given, n, type, out, n, type, root, comm, request, error)
    case (GATHERV); call MPI_Igatherv(given, to(root + 1), type, out, from, at, type, root, comm, request, error)
    case (SCATTER); call MPI_Iscatter(in, n, type, taken, n, type, root, comm, request, error)
    case (SCATTERV); call MPI_Iscatterv(in, to, at, type, taken, from(root + 1), type, root, comm, request, error)
    case (ALLGATHER); call MPI_Iallgather(given, n, type, out, n, type, comm, request, error)
    case (ALLGATHERV); call MPI_Iallgatherv(given, to(1), type, out, from, at, type, comm, request, error)
    case (ALLTOALL); call MPI_Ialltoall(given, n, type, out, n, type, comm, request, error)
    case (ALLTOALLV); call MPI_Ialltoallv(given, to, at, type, out, from, at, type, comm, request, error)
    case (ALLTOALLW); call MPI_Ialltoallw(given, to, at, all, out, from, at, all, comm, request, error)
    case (REDUCE); call MPI_Ireduce(given, out, n, type, MPI_SUM, root, comm, request, error)
    case (ALLREDUCE); call MPI_Iallreduce(given, out, n, type, MPI_SUM, comm, request, error)
    case (REDUCE_SCATTER); call MPI_Ireduce_scatter(given, out, from, type, MPI_SUM, comm, request, error)
    case (REDUCE_SCATTER_BLOCK); call MPI_Ireduce_scatter_block(given, out, n, type, MPI_SUM, comm, request, error)
    case (SCAN); call MPI_Iscan(given, out, n, type, MPI_SUM, comm, request, error)
    case (EXSCAN); call MPI_Iexscan(given, out, n, type, MPI_SUM, comm, request, error)
    case default; call MPI_Ibarrier(comm, request, error)
    end select
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  end subroutine

  ! Two operations of each rank, with a rank or with MPI_PROC_NULL; between fences, or each with a request and all ranks' memory locked.
  subroutine window(number)
    integer, intent(in) :: number
    integer :: i
    logical :: later
    if (ranks == 1) return
    later = mod(number / 3, 2) == 1
    if (later) then
      call MPI_Win_lock_all(0, win, error)
      call write_down('', 'Win_lock_all', 0, 0)
    else
      call MPI_Win_fence(0, win, error)
      call write_down('', 'Win_fence', 0, 0)
    end if
    do i = 0, 1
      call operation(mod(2 * number + i, 6), i, later)
      if (later) then
        call MPI_Win_flush_all(win, error)
        call write_down('', 'Win_flush_all', 0, 0)
      else
        call MPI_Win_fence(0, win, error)
        call write_down('', 'Win_fence', 0, 0)
      end if
    end do
    if (later) then
      call MPI_Win_unlock_all(win, error)
      call write_down('', 'Win_unlock_all', 0, 0)
    end if
  end subroutine

  subroutine operation(kind, place, later)
    integer, intent(in) :: kind, place
    logical, intent(in) :: later
    character(16), parameter :: names(0:5) = [character(16) :: 'Put', 'Get', 'Accumulate', 'Get_accumulate', 'Fetch_and_op', 'Compare_and_swap']
    integer, save :: compared(2) = 0, result(BLOCK)
    HANDLE(MPI_Request) :: request
    integer :: t, n, peer, bytes
    integer(MPI_ADDRESS_KIND) :: there
    logical :: has_request
    t = drawn(OF_TYPE, rank, place, 2)
    type = types(t)
    n = elements(rank, place)
    there = (2 * rank + place) * BLOCK
    peer = drawn(OF_PEER, rank, place, ranks + 1)
    if (peer == ranks) peer = MPI_PROC_NULL
    has_request = later .and. kind < 4
    select case (merge(6, 0, has_request) + kind)
    case (0); call MPI_Put(in, n, type, peer, there, n, type, win, error)
    case (1); call MPI_Get(result, n, type, peer, there, n, type, win, error)
    case (2); call MPI_Accumulate(in, n, type, peer, there, n, type, MPI_SUM, win, error)
    case (3); call MPI_Get_accumulate(in, n, type, result, n, type, peer, there, n, type, MPI_SUM, win, error)
    case (4); call MPI_Fetch_and_op(in, result, type, peer, there, MPI_SUM, win, error)
    case (5); call MPI_Compare_and_swap(in, compared, result, MPI_INTEGER, peer, there, win, error)
    case (6); call MPI_Rput(in, n, type, peer, there, n, type, win, request, error)
    case (7); call MPI_Rget(result, n, type, peer, there, n, type, win, request, error)
    case (8); call MPI_Raccumulate(in, n, type, peer, there, n, type, MPI_SUM, win, request, error)
    case default; call MPI_Rget_accumulate(in, n, type, result, n, type, peer, there, n, type, MPI_SUM, win, request, error)
    end select
    bytes = n * sizes(t)
    if (kind == 4) bytes = sizes(t)
    if (kind == 5) bytes = sizes(0)
    if (peer == MPI_PROC_NULL) bytes = 0
    ! The new value and the one that is compared with go there.
    call write_down(merge('R', ' ', has_request), names(kind), merge(0, merge(2, 1, kind == 5) * bytes, kind == 1), merge(0, bytes, kind == 0 .or. kind == 2))
    if (has_request) then
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call write_down('', 'Wait', 0, 0)
    end if
  end subroutine

  ! Reads and writes of the file within its length, of each rank at a place of its own or at the one that all share.
  subroutine access(number)
    integer, intent(in) :: number
    HANDLE(MPI_Request) :: request
    integer :: t, n, form
    integer(MPI_OFFSET_KIND) :: there
    t = drawn(OF_TYPE, 0, 0, TYPES_IN_ALL)
    type = types(t)
    n = elements(rank, 0)
    there = rank * BLOCK
    form = mod(number, 28)
#ifdef OPEN_MPI
    ! This one, in 4.1, now and then does not end.
    if (form == 27) form = 26
#endif
    if (any(form / 2 == [2, 3, 8, 9, 12])) then
      call MPI_File_seek(file, there, MPI_SEEK_SET, error)
      call write_down('File_', 'Seek', 0, 0)
    else if (any(form / 2 == [4, 5, 10, 13])) then
      call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, error)
      call write_down('File_', 'Seek_shared', 0, 0)
    end if
    select case (form)
    case (0); call MPI_File_write_at(file, there, in, n, type, MPI_STATUS_IGNORE, error)
    case (1); call MPI_File_read_at(file, there, out, n, type, MPI_STATUS_IGNORE, error)
    case (2); call MPI_File_write_at_all(file, there, in, n, type, MPI_STATUS_IGNORE, error)
    case (3); call MPI_File_read_at_all(file, there, out, n, type, MPI_STATUS_IGNORE, error)
    case (4); call MPI_File_write(file, in, n, type, MPI_STATUS_IGNORE, error)
    case (5); call MPI_File_read(file, out, n, type, MPI_STATUS_IGNORE, error)
    case (6); call MPI_File_write_all(file, in, n, type, MPI_STATUS_IGNORE, error)
    case (7); call MPI_File_read_all(file, out, n, type, MPI_STATUS_IGNORE, error)
    case (8); call MPI_File_write_shared(file, in, n, type, MPI_STATUS_IGNORE, error)
    case (9); call MPI_File_read_shared(file, out, n, type, MPI_STATUS_IGNORE, error)
    case (10); call MPI_File_write_ordered(file, in, n, type, MPI_STATUS_IGNORE, error)
    case (11); call MPI_File_read_ordered(file, out, n, type, MPI_STATUS_IGNORE, error)
    case (12); call MPI_File_iwrite_at(file, there, in, n, type, request, error)
    case (13); call MPI_File_iread_at(file, there, out, n, type, request, error)
    case (14); call MPI_File_iwrite_at_all(file, there, in, n, type, request, error)
    case (15); call MPI_File_iread_at_all(file, there, out, n, type, request, error)
    case (16); call MPI_File_iwrite(file, in, n, type, request, error)
    case (17); call MPI_File_iread(file, out, n, type, request, error)
    case (18); call MPI_File_iwrite_all(file, in, n, type, request, error)
    case (19); call MPI_File_iread_all(file, out, n, type, request, error)
    case (20); call MPI_File_iwrite_shared(file, in, n, type, request, error)
    case (21); call MPI_File_iread_shared(file, out, n, type, request, error)
    case (22); call MPI_File_write_at_all_begin(file, there, in, n, type, error)
    case (23); call MPI_File_read_at_all_begin(file, there, out, n, type, error)
    case (24); call MPI_File_write_all_begin(file, in, n, type, error)
    case (25); call MPI_File_read_all_begin(file, out, n, type, error)
    case (26); call MPI_File_write_ordered_begin(file, in, n, type, error)
    case default; call MPI_File_read_ordered_begin(file, out, n, type, error)
    end select
    call note_access(form, n * sizes(t))
    select case (form)
    case (12:21)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call write_down('', 'Wait', 0, 0)
    case (22); call MPI_File_write_at_all_end(file, in, MPI_STATUS_IGNORE, error)
    case (23); call MPI_File_read_at_all_end(file, out, MPI_STATUS_IGNORE, error)
    case (24); call MPI_File_write_all_end(file, in, MPI_STATUS_IGNORE, error)
    case (25); call MPI_File_read_all_end(file, out, MPI_STATUS_IGNORE, error)
    case (26); call MPI_File_write_ordered_end(file, in, MPI_STATUS_IGNORE, error)
    case (27); call MPI_File_read_ordered_end(file, out, MPI_STATUS_IGNORE, error)
    end select
  end subroutine

  ! The calls of an access; one of two calls reads in the second and writes in the first.
  subroutine note_access(form, bytes)
    integer, intent(in) :: form, bytes
    character(8), parameter :: ways(0:13) = [character(8) :: '_at', '_at_all', '', '_all', '_shared', '_ordered', '_at', '_at_all', '', '_all', '_shared', &
                                             '_at_all', '_all', '_ordered']
    character(6) :: prefix
    character(13) :: name
    integer :: written, got
    prefix = merge('File_i', 'File_ ', form >= 12 .and. form < 22)
    name = merge('Write', 'Read ', mod(form, 2) == 0)
    name = trim(name)//ways(form / 2)
    written = merge(bytes, 0, mod(form, 2) == 0)
    got = bytes - written
    if (form < 22) then
      call write_down(prefix, name, written, got)
    else
      call write_down(prefix, trim(name)//'_begin', written, 0)
      call write_down(prefix, trim(name)//'_end', 0, got)
    end if
  end subroutine

  ! Among neighbours in the line; at its ends there is one. Not alltoallw where it may meet what Open MPI 4.1 does for Fortran: it takes a type for each rank, whatever
  ! the neighbours, which a single rank has not, and the nonblocking one forgets them as above.
  subroutine neighbourhood(number)
    integer, intent(in) :: number
    HANDLE(MPI_Datatype) :: all(RANKS_AT_MOST)
    HANDLE(MPI_Request) :: request
    integer :: kind, t, n, to(2), from(2), degree, sent, received, i
    integer(MPI_ADDRESS_KIND), parameter :: bytewise(2) = [0, BLOCK]
    integer, parameter :: at(2) = [0, ELEMENTS_AT_MOST]
    character(10), parameter :: names(5) = ['allgather ', 'allgatherv', 'alltoall  ', 'alltoallv ', 'alltoallw ']
    logical :: later
    kind = mod(number, 5) + 1
    later = mod(number / 5, 2) == 1
#ifdef OPEN_MPI
    if (kind == 5 .and. (later .or. ranks == 1)) return
#endif
    t = drawn(OF_TYPE, 0, 0, TYPES_IN_ALL)
    type = types(t)
    all = type
    n = elements(merge(rank, 0, kind == 2), 0)
    to = n
    from = n
    degree = size(neighbours)
    do i = 1, degree
      if (kind == 2) from(i) = elements(neighbours(i), 0)
      if (kind >= 4) to(i) = elements(rank, neighbours(i))
      if (kind >= 4) from(i) = elements(neighbours(i), rank)
    end do
    sent = sum(to(:degree)) * sizes(t)
    received = sum(from(:degree)) * sizes(t)
    if (later) then
      select case (kind)
      case (1); call MPI_Ineighbor_allgather(in, n, type, out, n, type, comm, request, error)
      case (2); call MPI_Ineighbor_allgatherv(in, n, type, out, from, at, type, comm, request, error)
      case (3); call MPI_Ineighbor_alltoall(in, n, type, out, n, type, comm, request, error)
      case (4); call MPI_Ineighbor_alltoallv(in, to, at, type, out, from, at, type, comm, request, error)
      case default; call MPI_Ineighbor_alltoallw(in, to, bytewise, all, out, from, bytewise, all, comm, request, error)
      end select
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call write_down('', 'Wait', 0, 0)
    else
      select case (kind)
      case (1); call MPI_Neighbor_allgather(in, n, type, out, n, type, comm, error)
      case (2); call MPI_Neighbor_allgatherv(in, n, type, out, from, at, type, comm, error)
      case (3); call MPI_Neighbor_alltoall(in, n, type, out, n, type, comm, error)
      case (4); call MPI_Neighbor_alltoallv(in, to, at, type, out, from, at, type, comm, error)
      case default; call MPI_Neighbor_alltoallw(in, to, bytewise, all, out, from, bytewise, all, comm, error)
      end select
    end if
    call write_down(merge('I', ' ', later), 'Neighbor_'//names(kind), sent, received)
  end subroutine
end program main
