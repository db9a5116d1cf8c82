/* Collective file access, in which MPI libraries call MPI functions themselves. */
#include "cases.h"

int main(int argc, char **argv)
{
    MPI_File file;
    int in[64], out[64];
    start(&argc, &argv);
    for (int i = 0; i < 64; i++) in[i] = 100 * rank + i;
    CASE("files", CHECK(MPI_File_open(MPI_COMM_WORLD, "numbers", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)
                        == MPI_SUCCESS);
         MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof in, in, 64, MPI_INT, MPI_STATUS_IGNORE);
         MPI_File_sync(file);
         MPI_File_read_at_all(file, rank * (MPI_Offset)sizeof in, out, 64, MPI_INT, MPI_STATUS_IGNORE);
         MPI_File_write_ordered(file, in, 3, MPI_INT, MPI_STATUS_IGNORE);
         MPI_File_close(&file));
    CHECK(memcmp(in, out, sizeof in) == 0);
    MPI_Finalize();
    return 0;
}
