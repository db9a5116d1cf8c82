! The same few calls through each of MPI's Fortran bindings, which are compiled in by BINDING: 1 mpif.h, 2 the module
! mpi, 3 the module mpi_f08.
program fortran
#if BINDING == 2
  use mpi
#elif BINDING == 3
  use mpi_f08
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
#if BINDING == 3
  type(MPI_Request) :: requests(2)
#else
  integer :: requests(2)
#endif
  integer :: error, rank, ranks, following, before, in(8), out(8)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  in = rank
  following = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call MPI_Bcast(in, 5, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, out, 2, MPI_INTEGER, MPI_COMM_WORLD, error)
  call MPI_Sendrecv(in, 3, MPI_INTEGER, following, 1, out, 8, MPI_INTEGER, before, 1, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, error)
  call MPI_Irecv(out, 8, MPI_INTEGER, before, 2, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(in, rank + 1, MPI_INTEGER, following, 2, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call MPI_Finalize(error)
end program fortran
