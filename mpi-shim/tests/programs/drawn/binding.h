/* MPI's binding for Fortran by BINDING: 1 mpif.h, 2 the module mpi, 3 the module mpi_f08, which alone has large counts, with LARGE. */
#if BINDING == 3
#define HANDLE(KIND) type(KIND)
#else
#define HANDLE(KIND) integer
#endif
/* In how many ways a collective operation is called; the last came with MPI 4.0. */
#ifdef OPEN_MPI
#define WAYS_TO_CALL 2
#else
#define WAYS_TO_CALL 3
#endif
