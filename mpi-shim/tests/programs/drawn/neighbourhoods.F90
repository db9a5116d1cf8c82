! Collective operations among neighbours, in each way to call them, as in neighbourhoods.c, on lines of ranks that may be rings: graphs, and grids, at whose ends there is an
! edge to nobody.
#include "binding.h"
module neighbourhoods
  use shared
  implicit none
  private
  public :: neighbourhood, end_neighbourhoods
  ! Who stands beside a rank on its two sides, or MPI_PROC_NULL, and whether that is an edge all the same.
  type topology
    HANDLE(MPI_Comm) :: comm
    integer, allocatable :: neighbours(:)
    logical :: is_made = .false.
  end type
  type(topology), save :: topologies(0:COMMS_IN_ALL - 1)
contains
  subroutine make(line)
    type(topology), intent(inout) :: line
    logical :: wraps
    wraps = drawn(OF_EDGE, 0, 0, 2) == 1
    line%neighbours = [before, next]
    if (.not. wraps) line%neighbours = merge(line%neighbours, MPI_PROC_NULL, line%neighbours == [rank - 1, rank + 1])
    line%is_made = .true.
    if (mod(place, 2) == 1) then
      call MPI_Cart_create(comm, 1, [ranks], [wraps], .false., line%comm, error)
      call write_down('', 'Cart_create', 0, 0)
    else
      line%neighbours = pack(line%neighbours, line%neighbours /= MPI_PROC_NULL)
      call MPI_Dist_graph_create_adjacent(comm, size(line%neighbours), line%neighbours, MPI_UNWEIGHTED, size(line%neighbours), line%neighbours, &
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, .false., line%comm, error)
      call write_down('', 'Dist_graph_create_adjacent', 0, 0)
    end if
  end subroutine

  subroutine neighbourhood(number)
    integer, intent(in) :: number
    integer :: kind, way
    kind = ALLGATHER + mod(number, 5)
    way = mod(number / 5, WAYS_TO_CALL)
    ! Of a grid, MPICH 4.0's module mpi_f08 asks who the neighbours in its graph are.
    if (kind == ALLTOALLW) call choose_communicator(place / 2 * 2)
    if (.not. topologies(place)%is_made) call make(topologies(place))
#ifdef OPEN_MPI
    ! In 4.1 it takes a type for each rank from Fortran, whatever the neighbours, which a single rank has not, and the nonblocking one forgets them before it needs them.
    if (kind == ALLTOALLW) way = BLOCKING
    if (kind == ALLTOALLW .and. ranks == 1) kind = ALLTOALLV
#endif
    call move(kind, way, topologies(place)%comm, topologies(place)%neighbours)
  end subroutine

  subroutine move(kind, way, comm, neighbours)
    integer, intent(in) :: kind, way, neighbours(:)
    HANDLE(MPI_Comm), intent(in) :: comm
    character(19), parameter :: names(ALLGATHER:ALLTOALLW) = [character(19) :: &
      'Neighbor_allgather', 'Neighbor_allgatherv', 'Neighbor_alltoall', 'Neighbor_alltoallv', 'Neighbor_alltoallw']
    integer(MPI_ADDRESS_KIND), parameter :: bytewise(2) = [0, BLOCK]
    integer(PLACE_KIND), parameter :: places(2) = [0, ELEMENTS_AT_MOST]
    HANDLE(MPI_Datatype) :: type, all(RANKS_AT_MOST)
    HANDLE(MPI_Request) :: request
    integer(COUNT_KIND) :: n, to(2), from(2)
    integer :: t, i, sent, received
    t = drawn(OF_TYPE, 0, 0, TYPES_IN_ALL)
    type = types(t)
    all = type
    n = carried(rank, 0)
    sent = 0
    received = 0
    do i = 1, size(neighbours)
      ! A number that MPI must not look at.
      to(i) = 3
      from(i) = 3
      if (neighbours(i) == MPI_PROC_NULL) cycle
      to(i) = carried(rank, neighbours(i))
      from(i) = carried(neighbours(i), rank)
      sent = sent + int(to(i)) * sizes(t)
      received = received + int(from(i)) * sizes(t)
    end do
    select case (way)
    case (BLOCKING)
      select case (kind)
      case (ALLGATHER); call MPI_Neighbor_allgather(in, n, type, out, n, type, comm, error)
      case (ALLGATHERV); call MPI_Neighbor_allgatherv(in, n, type, out, from, places, type, comm, error)
      case (ALLTOALL); call MPI_Neighbor_alltoall(in, n, type, out, n, type, comm, error)
      case (ALLTOALLV); call MPI_Neighbor_alltoallv(in, to, places, type, out, from, places, type, comm, error)
      case default; call MPI_Neighbor_alltoallw(in, to, bytewise, all, out, from, bytewise, all, comm, error)
      end select
    case (NONBLOCKING)
      select case (kind)
      case (ALLGATHER); call MPI_Ineighbor_allgather(in, n, type, out, n, type, comm, request, error)
      case (ALLGATHERV); call MPI_Ineighbor_allgatherv(in, n, type, out, from, places, type, comm, request, error)
      case (ALLTOALL); call MPI_Ineighbor_alltoall(in, n, type, out, n, type, comm, request, error)
      case (ALLTOALLV); call MPI_Ineighbor_alltoallv(in, to, places, type, out, from, places, type, comm, request, error)
      case default; call MPI_Ineighbor_alltoallw(in, to, bytewise, all, out, from, bytewise, all, comm, request, error)
      end select
#ifndef OPEN_MPI
    case (PERSISTENT)
      select case (kind)
      case (ALLGATHER); call MPI_Neighbor_allgather_init(in, n, type, out, n, type, comm, MPI_INFO_NULL, request, error)
      case (ALLGATHERV); call MPI_Neighbor_allgatherv_init(in, n, type, out, from, places, type, comm, MPI_INFO_NULL, request, error)
      case (ALLTOALL); call MPI_Neighbor_alltoall_init(in, n, type, out, n, type, comm, MPI_INFO_NULL, request, error)
      case (ALLTOALLV); call MPI_Neighbor_alltoallv_init(in, to, places, type, out, from, places, type, comm, MPI_INFO_NULL, request, error)
      case default; call MPI_Neighbor_alltoallw_init(in, to, bytewise, all, out, from, bytewise, all, comm, MPI_INFO_NULL, request, error)
      end select
#endif
    end select
    call write_down_way(way, 1, names(kind), sent, received)
    call finish(way, 1, request)
  contains
    ! How many elements an edge carries.
    integer function carried(one, other)
      integer, intent(in) :: one, other
      select case (kind)
      case (ALLGATHER, ALLTOALL); carried = elements(0, 0)
      case (ALLGATHERV); carried = elements(one, 0)
      case default; carried = elements(one, other)
      end select
    end function
  end subroutine

  subroutine end_neighbourhoods
    integer :: i
    do i = 0, COMMS_IN_ALL - 1
      if (.not. topologies(i)%is_made) cycle
      call MPI_Comm_free(topologies(i)%comm, error)
      call write_down('', 'Comm_free', 0, 0)
    end do
  end subroutine
end module neighbourhoods
