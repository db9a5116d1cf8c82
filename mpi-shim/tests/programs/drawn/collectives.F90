! Collective operations over a communicator, in each way to call them; plan.c says which and what they move.
#include "binding.h"
module collectives
  use shared
  implicit none
  private
  public :: collective
contains
  subroutine collective(number)
    integer, intent(in) :: number
    type(plan) :: made
    integer, pointer, contiguous :: in_place(:), given(:), taken(:)
    call plan_collective(number, WAYS_TO_CALL, rank, ranks, made)
#ifdef OPEN_MPI
    ! Its nonblocking one for Fortran, in 4.1, forgets the types before it needs them.
    if (made%kind == ALLTOALLW) made%way = BLOCKING
#endif
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
    HANDLE(MPI_Datatype) :: type, all(RANKS_AT_MOST)
    HANDLE(MPI_Request) :: request
    integer(COUNT_KIND) :: n, to(RANKS_AT_MOST), from(RANKS_AT_MOST)
    integer(PLACE_KIND) :: places(RANKS_AT_MOST)
    integer :: root, i
    n = made%count
    to = made%to
    from = made%from
    root = made%root
    type = types(made%type)
    all = type
    ! In elements; in bytes where each block has its own type.
    places = [(i * merge(BLOCK, ELEMENTS_AT_MOST, made%kind == ALLTOALLW), i = 0, RANKS_AT_MOST - 1)]
    select case (made%way)
    case (BLOCKING)
      select case (made%kind)
      case (BCAST); call MPI_Bcast(in, n, type, root, comm, error)
      case (GATHER); call MPI_Gather(given, n, type, out, n, type, root, comm, error)
      case (GATHERV); call MPI_Gatherv(given, to(root + 1), type, out, from, places, type, root, comm, error)
      case (SCATTER); call MPI_Scatter(in, n, type, taken, n, type, root, comm, error)
      case (SCATTERV); call MPI_Scatterv(in, to, places, type, taken, from(root + 1), type, root, comm, error)
      case (ALLGATHER); call MPI_Allgather(given, n, type, out, n, type, comm, error)
      case (ALLGATHERV); call MPI_Allgatherv(given, to(1), type, out, from, places, type, comm, error)
      case (ALLTOALL); call MPI_Alltoall(given, n, type, out, n, type, comm, error)
      case (ALLTOALLV); call MPI_Alltoallv(given, to, places, type, out, from, places, type, comm, error)
      case (ALLTOALLW); call MPI_Alltoallw(given, to, places, all, out, from, places, all, comm, error)
      case (REDUCE); call MPI_Reduce(given, out, n, type, MPI_SUM, root, comm, error)
      case (ALLREDUCE); call MPI_Allreduce(given, out, n, type, MPI_SUM, comm, error)
      case (REDUCE_SCATTER); call MPI_Reduce_scatter(given, out, from, type, MPI_SUM, comm, error)
      case (REDUCE_SCATTER_BLOCK); call MPI_Reduce_scatter_block(given, out, n, type, MPI_SUM, comm, error)
      case (SCAN); call MPI_Scan(given, out, n, type, MPI_SUM, comm, error)
      case (EXSCAN); call MPI_Exscan(given, out, n, type, MPI_SUM, comm, error)
      case default; call MPI_Barrier(comm, error)
      end select
    case (NONBLOCKING)
      select case (made%kind)
      case (BCAST); call MPI_Ibcast(in, n, type, root, comm, request, error)
      case (GATHER); call MPI_Igather(given, n, type, out, n, type, root, comm, request, error)
      case (GATHERV); call MPI_Igatherv(given, to(root + 1), type, out, from, places, type, root, comm, request, error)
      case (SCATTER); call MPI_Iscatter(in, n, type, taken, n, type, root, comm, request, error)
      case (SCATTERV); call MPI_Iscatterv(in, to, places, type, taken, from(root + 1), type, root, comm, request, error)
      case (ALLGATHER); call MPI_Iallgather(given, n, type, out, n, type, comm, request, error)
      case (ALLGATHERV); call MPI_Iallgatherv(given, to(1), type, out, from, places, type, comm, request, error)
      case (ALLTOALL); call MPI_Ialltoall(given, n, type, out, n, type, comm, request, error)
      case (ALLTOALLV); call MPI_Ialltoallv(given, to, places, type, out, from, places, type, comm, request, error)
      case (ALLTOALLW); call MPI_Ialltoallw(given, to, places, all, out, from, places, all, comm, request, error)
      case (REDUCE); call MPI_Ireduce(given, out, n, type, MPI_SUM, root, comm, request, error)
      case (ALLREDUCE); call MPI_Iallreduce(given, out, n, type, MPI_SUM, comm, request, error)
      case (REDUCE_SCATTER); call MPI_Ireduce_scatter(given, out, from, type, MPI_SUM, comm, request, error)
      case (REDUCE_SCATTER_BLOCK); call MPI_Ireduce_scatter_block(given, out, n, type, MPI_SUM, comm, request, error)
      case (SCAN); call MPI_Iscan(given, out, n, type, MPI_SUM, comm, request, error)
      case (EXSCAN); call MPI_Iexscan(given, out, n, type, MPI_SUM, comm, request, error)
      case default; call MPI_Ibarrier(comm, request, error)
      end select
#ifndef OPEN_MPI
    case (PERSISTENT)
      select case (made%kind)
      case (BCAST); call MPI_Bcast_init(in, n, type, root, comm, MPI_INFO_NULL, request, error)
      case (GATHER); call MPI_Gather_init(given, n, type, out, n, type, root, comm, MPI_INFO_NULL, request, error)
      case (GATHERV); call MPI_Gatherv_init(given, to(root + 1), type, out, from, places, type, root, comm, MPI_INFO_NULL, request, error)
      case (SCATTER); call MPI_Scatter_init(in, n, type, taken, n, type, root, comm, MPI_INFO_NULL, request, error)
      case (SCATTERV); call MPI_Scatterv_init(in, to, places, type, taken, from(root + 1), type, root, comm, MPI_INFO_NULL, request, error)
      case (ALLGATHER); call MPI_Allgather_init(given, n, type, out, n, type, comm, MPI_INFO_NULL, request, error)
      case (ALLGATHERV); call MPI_Allgatherv_init(given, to(1), type, out, from, places, type, comm, MPI_INFO_NULL, request, error)
      case (ALLTOALL); call MPI_Alltoall_init(given, n, type, out, n, type, comm, MPI_INFO_NULL, request, error)
      case (ALLTOALLV); call MPI_Alltoallv_init(given, to, places, type, out, from, places, type, comm, MPI_INFO_NULL, request, error)
      case (ALLTOALLW); call MPI_Alltoallw_init(given, to, places, all, out, from, places, all, comm, MPI_INFO_NULL, request, error)
      case (REDUCE); call MPI_Reduce_init(given, out, n, type, MPI_SUM, root, comm, MPI_INFO_NULL, request, error)
      case (ALLREDUCE); call MPI_Allreduce_init(given, out, n, type, MPI_SUM, comm, MPI_INFO_NULL, request, error)
      case (REDUCE_SCATTER); call MPI_Reduce_scatter_init(given, out, from, type, MPI_SUM, comm, MPI_INFO_NULL, request, error)
      case (REDUCE_SCATTER_BLOCK); call MPI_Reduce_scatter_block_init(given, out, n, type, MPI_SUM, comm, MPI_INFO_NULL, request, error)
      case (SCAN); call MPI_Scan_init(given, out, n, type, MPI_SUM, comm, MPI_INFO_NULL, request, error)
      case (EXSCAN); call MPI_Exscan_init(given, out, n, type, MPI_SUM, comm, MPI_INFO_NULL, request, error)
      case default; call MPI_Barrier_init(comm, MPI_INFO_NULL, request, error)
      end select
#endif
    end select
    call finish(made%way, made%starts, request)
  end subroutine
end module collectives
