/* Collective file access, in which MPI libraries call MPI functions themselves, and reads into statuses that nobody has set before. */
#include "cases.h"

/* A status as it lies on the stack. */
static MPI_Status *any(void)
{
    static MPI_Status status;
    memset(&status, 0x55, sizeof status);
    return &status;
}

/* Reads that are complete when they return, each of another number of ints, of the 64 that the rank has written. Not MPI_File_read_ordered_begin,
 * which now and then does not end under Open MPI 4.1. */
static void reads(MPI_File file, int *out)
{
    MPI_Offset own = rank * (MPI_Offset)(64 * sizeof *out);
    CASE("reads", MPI_File_read_at(file, own, out, 11, MPI_INT, any());
         MPI_File_read_at_all(file, own, out, 12, MPI_INT, any());
         MPI_File_read_at_all_begin(file, own, out, 13, MPI_INT);
         MPI_File_read_at_all_end(file, out, any());
         MPI_File_seek(file, own, MPI_SEEK_SET);
         MPI_File_read(file, out, 14, MPI_INT, any());
         MPI_File_read_all(file, out, 15, MPI_INT, any());
         MPI_File_read_all_begin(file, out, 16, MPI_INT);
         MPI_File_read_all_end(file, out, any());
         MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
         MPI_File_read_shared(file, out, 19, MPI_INT, any());
         MPI_File_read_ordered(file, out, 17, MPI_INT, any()));
}

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
         CHECK(memcmp(in, out, sizeof in) == 0);
         reads(file, out);
         /* What is behind the file's end is not read. */
         MPI_File_set_size(file, 40);
         CASE("short", MPI_File_read_at(file, 12, out, 64, MPI_INT, any()));
         MPI_File_close(&file));
    MPI_Finalize();
    return 0;
}
