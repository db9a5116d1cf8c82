! Drawn operations as in main.c, through each of MPI's Fortran bindings.
program main
  use messages, only: message
  use collectives, only: collective
  use windows, only: window, end_windows
  use files, only: file, end_files
  use neighbourhoods, only: neighbourhood, end_neighbourhoods
  use communicators, only: communicator
  use shared
  implicit none
  integer :: turn, turns, provided, world
  integer(c_int64_t) :: seed
  integer, save :: buffer(ROOM)
  character(16) :: argument
#if BINDING == 3
  type(c_ptr) :: address
#else
  integer :: address(1)
#endif
  integer(COUNT_KIND) :: length
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, error)
  call write_down('', 'Init_thread', 0, 0)
  call get_command_argument(1, argument)
  read (argument, *) seed
  call get_command_argument(2, argument)
  read (argument, *) turns
  in = 0
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  comms(0) = MPI_COMM_WORLD
  comms(1) = MPI_COMM_SELF
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, comms(2), error)
  call MPI_Comm_split(MPI_COMM_WORLD, merge(1, 0, 3 * rank < ranks), rank, comms(3), error)
  call write_down('', 'Comm_split', 0, 0)
  call write_down('', 'Comm_split', 0, 0)
  types(0) = MPI_INTEGER
  types(1) = MPI_DOUBLE_PRECISION
  types(2) = MPI_CHARACTER
  ! Three times two integers of five.
  call MPI_Type_vector(3, 2, 5, MPI_INTEGER, types(3), error)
  call MPI_Type_commit(types(3), error)
  call MPI_Buffer_attach(buffer, 4 * ROOM, error)
  do turn = 0, turns - 1
    call draw_for(seed, int(turn, c_int64_t))
    call choose_communicator(drawn(OF_COMM, 0, 0, COMMS_IN_ALL))
    call choose_statuses(drawn(OF_OPERATION, 0, 0, 2) == 0)
    select case (mod(turn, 8))
    case (0, 4); call message(turn / 4)
    case (2); call window(turn / 8)
    case (3); call communicator(turn / 8)
    case (5); call file(turn / 8)
    case (6); call neighbourhood(turn / 8)
    case default; call collective(2 * (turn / 8) + mod(turn, 8) / 7)
    end select
  end do
  call end_windows
  call end_files
  call end_neighbourhoods
  call MPI_Buffer_detach(address, length, error)
  call write_down_counted('', 'Buffer_detach', 0, 0)
  call print_ledger
  call MPI_Finalize(error)
end program main
