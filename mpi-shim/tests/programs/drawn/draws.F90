! draw.h for Fortran.
module draws
  use, intrinsic :: iso_c_binding
  implicit none
  enum, bind(C)
    enumerator :: OF_TYPE, OF_COMM, OF_ROOT, OF_PLACE, OF_FORM, OF_COUNT, OF_PEER, OF_OPERATION, OF_EDGE, OF_WHERE
  end enum
  enum, bind(C)
    enumerator :: BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, REDUCE, &
      ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, BARRIER
  end enum
  ! As in messages.c.
  enum, bind(C)
    enumerator :: IRECV, RECV_INIT, RECV, PROBE, IPROBE, MPROBE, IMPROBE, SENDRECV, SENDRECV_REPLACE, ISENDRECV, PARTITIONED
  end enum
  enum, bind(C)
    enumerator :: BLOCKING, NONBLOCKING, PERSISTENT
  end enum
  integer, parameter :: READY = 3
  integer, parameter :: RANKS_AT_MOST = 9, ELEMENTS_AT_MOST = 8, TYPES_IN_ALL = 4, COMMS_IN_ALL = 4
  type, bind(C) :: plan
    integer(c_int) :: kind, way, starts, root, type, is_in_place, count, to(RANKS_AT_MOST), from(RANKS_AT_MOST)
    integer(c_long) :: sent, received
  end type
  interface
    subroutine draw_for(seed, turn) bind(C)
      import c_int64_t
      integer(c_int64_t), value :: seed, turn
    end subroutine
    integer(c_int) function drawn(what, one, other, most) bind(C)
      import c_int
      integer(c_int), value :: what, one, other, most
    end function
    integer(c_int) function elements(one, other) bind(C)
      import c_int
      integer(c_int), value :: one, other
    end function
    subroutine write_down_c(prefix, name, sent, received) bind(C, name='write_down')
      import c_char, c_long
      character(kind=c_char), intent(in) :: prefix(*), name(*)
      integer(c_long), value :: sent, received
    end subroutine
    subroutine write_down_counted_c(prefix, name, sent, received) bind(C, name='write_down_counted')
      import c_char, c_long
      character(kind=c_char), intent(in) :: prefix(*), name(*)
      integer(c_long), value :: sent, received
    end subroutine
    subroutine write_down_way_c(way, has_counts, starts, name, sent, received) bind(C, name='write_down_way')
      import c_char, c_int, c_long
      integer(c_int), value :: way, has_counts, starts
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long), value :: sent, received
    end subroutine
    integer(c_int) function sched_yield() bind(C)
      import c_int
    end function
    subroutine print_ledger() bind(C)
    end subroutine
    subroutine plan_collective(number, ways, rank, ranks, made) bind(C)
      import c_int, plan
      integer(c_int), value :: number, ways, rank, ranks
      type(plan), intent(out) :: made
    end subroutine
    subroutine write_down_collective(made) bind(C)
      import plan
      type(plan), intent(in) :: made
    end subroutine
  end interface
contains
  ! The processor to another rank.
  subroutine give_way
    integer(c_int) :: ignored
    ignored = sched_yield()
  end subroutine

  subroutine write_down(prefix, name, sent, received)
    character(*), intent(in) :: prefix, name
    integer, intent(in) :: sent, received
    call write_down_c(trim(prefix)//c_null_char, trim(name)//c_null_char, int(sent, c_long), int(received, c_long))
  end subroutine

  subroutine write_down_counted(prefix, name, sent, received)
    character(*), intent(in) :: prefix, name
    integer, intent(in) :: sent, received
    call write_down_counted_c(trim(prefix)//c_null_char, trim(name)//c_null_char, int(sent, c_long), int(received, c_long))
  end subroutine

  ! Of an operation that has counts.
  subroutine write_down_way(way, starts, name, sent, received)
    integer, intent(in) :: way, starts, sent, received
    character(*), intent(in) :: name
    call write_down_way_c(way, 1, starts, trim(name)//c_null_char, int(sent, c_long), int(received, c_long))
  end subroutine
end module draws
