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
  integer :: rank, ranks, error, turn, turns, next, before
  integer(c_int64_t) :: seed
  logical :: wraps
  character(16) :: argument
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

  ! To the next rank, from the one before, whose count is its own draw.
  subroutine message(number)
    integer, intent(in) :: number
    HANDLE(MPI_Request) :: requests(2)
    HANDLE(MPI_Message) :: found
    integer :: t, n, sent, comes, i, which
    logical :: is_over
    t = drawn(OF_TYPE, 0, 0, TYPES_IN_ALL)
    type = types(t)
    n = elements(rank, 0)
    if (mod(number, 9) == 8) n = elements(0, 0)
    sent = n * sizes(t)
    comes = merge(elements(0, 0), elements(before, 0), mod(number, 9) == 8) * sizes(t)
    if (mod(number, 9) < 4) then
      call MPI_Irecv(out, ELEMENTS_AT_MOST, type, before, 1, comm, requests(1), error)
      call write_down('', 'Irecv', 0, 0)
    end if
    select case (mod(number, 9))
    case (0)
      call MPI_Send(in, n, type, next, 1, comm, error)
      call write_down('', 'Send', sent, 0)
    case (1)
      call MPI_Ssend(in, n, type, next, 1, comm, error)
      call write_down('', 'Ssend', sent, 0)
    case (2, 5)
      call MPI_Isend(in, n, type, next, 1, comm, requests(2), error)
      call write_down('', 'Isend', sent, 0)
    case (3, 6)
      call MPI_Issend(in, n, type, next, 1, comm, requests(2), error)
      call write_down('', 'Issend', sent, 0)
    case (4)
      call MPI_Recv_init(out, ELEMENTS_AT_MOST, type, before, 1, comm, requests(1), error)
      call MPI_Send_init(in, n, type, next, 1, comm, requests(2), error)
      call MPI_Startall(2, requests, error)
      call write_down('', 'Recv_init', 0, 0)
      call write_down('', 'Send_init', 0, 0)
      call write_down('', 'Startall', sent, 0)
    case (7)
      call MPI_Sendrecv(in, n, type, next, 1, out, ELEMENTS_AT_MOST, type, before, 1, comm, MPI_STATUS_IGNORE, error)
      call write_down('', 'Sendrecv', sent, comes)
    case default
      call MPI_Sendrecv_replace(out, n, type, next, 1, before, 1, comm, MPI_STATUS_IGNORE, error)
      call write_down('', 'Sendrecv_replace', sent, comes)
    end select
    select case (mod(number, 9))
    case (0, 1)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
      call write_down('', 'Wait', 0, comes)
    case (2)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
      call write_down('', 'Waitall', 0, comes)
    case (3)
      do i = 1, 2
        call MPI_Waitany(2, requests, which, MPI_STATUS_IGNORE, error)
        call write_down('', 'Waitany', 0, merge(comes, 0, which == 1))
      end do
    case (4)
      is_over = .false.
      do while (.not. is_over)
        call MPI_Testall(2, requests, is_over, MPI_STATUSES_IGNORE, error)
        call write_down('', 'Testall', 0, merge(comes, 0, is_over))
      end do
      do i = 1, 2
        call MPI_Request_free(requests(i), error)
        call write_down('', 'Request_free', 0, 0)
      end do
    case (5)
      call MPI_Probe(before, 1, comm, MPI_STATUS_IGNORE, error)
      call MPI_Recv(out, ELEMENTS_AT_MOST, type, before, 1, comm, MPI_STATUS_IGNORE, error)
      call write_down('', 'Probe', 0, 0)
      call write_down('', 'Recv', 0, comes)
    case (6)
      call MPI_Mprobe(before, 1, comm, found, MPI_STATUS_IGNORE, error)
      call MPI_Mrecv(out, ELEMENTS_AT_MOST, type, found, MPI_STATUS_IGNORE, error)
      call write_down('', 'Mprobe', 0, 0)
      call write_down('', 'Mrecv', 0, comes)
    end select
    if (mod(number, 9) == 5 .or. mod(number, 9) == 6) then
      call MPI_Wait(requests(2), MPI_STATUS_IGNORE, error)
      call write_down('', 'Wait', 0, 0)
    end if
  end subroutine

  subroutine collective(number)
    integer, intent(in) :: number
    type(plan) :: made
    integer, pointer, contiguous :: in_place(:), given(:), taken(:)
    call plan_collective(number, 2, rank, ranks, made)
    ! Open MPI 4.1's nonblocking one for Fortran forgets the types before it needs them.
    if (made%kind == ALLTOALLW) made%way = 0
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

  ! Two operations of each rank between two fences, with a rank or with MPI_PROC_NULL.
  subroutine window(number)
    integer, intent(in) :: number
    integer :: i, t, n, peer, bytes, compared(2), result(BLOCK)
    integer(MPI_ADDRESS_KIND) :: there
    if (ranks == 1) return
    call MPI_Win_fence(0, win, error)
    do i = 0, 1
      t = drawn(OF_TYPE, rank, i, 2)
      type = types(t)
      n = elements(rank, i)
      there = (2 * rank + i) * BLOCK
      peer = drawn(OF_PEER, rank, i, ranks + 1)
      if (peer == ranks) peer = MPI_PROC_NULL
      bytes = merge(0, n * sizes(t), peer == MPI_PROC_NULL)
      select case (mod(2 * number + i, 6))
      case (0)
        call MPI_Put(in, n, type, peer, there, n, type, win, error)
        call write_down('', 'Put', bytes, 0)
      case (1)
        call MPI_Get(result, n, type, peer, there, n, type, win, error)
        call write_down('', 'Get', 0, bytes)
      case (2)
        call MPI_Accumulate(in, n, type, peer, there, n, type, MPI_SUM, win, error)
        call write_down('', 'Accumulate', bytes, 0)
      case (3)
        call MPI_Get_accumulate(in, n, type, result, n, type, peer, there, n, type, MPI_SUM, win, error)
        call write_down('', 'Get_accumulate', bytes, bytes)
      case (4)
        call MPI_Fetch_and_op(in, result, type, peer, there, MPI_SUM, win, error)
        bytes = merge(0, sizes(t), peer == MPI_PROC_NULL)
        call write_down('', 'Fetch_and_op', bytes, bytes)
      case default
        compared = 0
        call MPI_Compare_and_swap(in, compared, result, MPI_INTEGER, peer, there, win, error)
        bytes = merge(0, sizes(0), peer == MPI_PROC_NULL)
        call write_down('', 'Compare_and_swap', 2 * bytes, bytes)
      end select
      ! Its result is there, and may be written again.
      call MPI_Win_fence(0, win, error)
    end do
    do i = 0, 2
      call write_down('', 'Win_fence', 0, 0)
    end do
  end subroutine

  ! Reads and writes of the file within its length, of each rank at a place of its own or at the one that all share.
  subroutine access(number)
    integer, intent(in) :: number
    HANDLE(MPI_Request) :: request
    integer :: t, n, bytes, form
    integer(MPI_OFFSET_KIND) :: there
    t = drawn(OF_TYPE, 0, 0, TYPES_IN_ALL)
    type = types(t)
    n = elements(rank, 0)
    bytes = n * sizes(t)
    there = rank * BLOCK
    form = mod(number, 14)
    if (form / 2 == 2 .or. form / 2 == 3) then
      call MPI_File_seek(file, there, MPI_SEEK_SET, error)
      call write_down('File_', 'Seek', 0, 0)
    else if (form / 2 == 4 .or. form / 2 == 5) then
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
    case default; call MPI_File_iread_at(file, there, out, n, type, request, error)
    end select
    call note_access(form, bytes)
    if (form >= 12) then
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call write_down('', 'Wait', 0, 0)
    end if
  end subroutine

  subroutine note_access(form, bytes)
    integer, intent(in) :: form, bytes
    character(8), parameter :: ways(0:6) = ['_at     ', '_at_all ', '        ', '_all    ', '_shared ', '_ordered', '_at     ']
    character(6) :: prefix
    prefix = merge('File_i', 'File_ ', form >= 12)
    if (mod(form, 2) == 0) call write_down(prefix, 'Write'//ways(form / 2), bytes, 0)
    if (mod(form, 2) == 1) call write_down(prefix, 'Read'//ways(form / 2), 0, bytes)
  end subroutine

  ! Among neighbours in the line; at its ends there is one. Not alltoallw where it may meet what Open MPI 4.1 does for Fortran: it takes a type for each rank, whatever
  ! the neighbours, and the nonblocking one forgets them as above.
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
    if (kind == 5 .and. (later .or. ranks == 1)) return
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
      case default; call MPI_Ineighbor_alltoallv(in, to, at, type, out, from, at, type, comm, request, error)
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
