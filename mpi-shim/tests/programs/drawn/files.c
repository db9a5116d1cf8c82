/* Reads and writes of a file, in each form: with an offset of their own, at the rank's place or at the one that all share, together or not, and in two calls. What is
 * written counts as sent, what is read as received, with what there is of it until the file's end. */
#include "drawn.h"
#include <stdio.h>

/* More than a rank reads or writes at once, and the file. */
enum { ROOM_OF_RANK = 256, LENGTH = RANKS * ROOM_OF_RANK };
static MPI_File files[COMMS];
static char names[COMMS][32];
static int reads;

/* The call of a form for reading or writing, and what the ledger has of it. */
#define CALL(PREFIX, SUFFIX, BYTES, ...)                                                                           \
    do {                                                                                                           \
        reads ? MPI(File_##PREFIX##read##SUFFIX)(__VA_ARGS__) : MPI(File_##PREFIX##write##SUFFIX)(__VA_ARGS__);    \
        write_down_counted("File_" #PREFIX, reads ? "Read" #SUFFIX : "Write" #SUFFIX, reads ? 0 : BYTES, reads ? BYTES : 0); \
    } while (0)
/* What has two calls reads in the second and writes in the first. */
#define CALL_TWICE(SUFFIX, ...)                                                                                       \
    do {                                                                                                              \
        reads ? MPI(File_read##SUFFIX##_begin)(__VA_ARGS__) : MPI(File_write##SUFFIX##_begin)(__VA_ARGS__);             \
        write_down_counted("File_", reads ? "Read" #SUFFIX "_begin" : "Write" #SUFFIX "_begin", reads ? 0 : asked, 0);        \
        reads ? MPI_File_read##SUFFIX##_end(file, out, MPI_STATUS_IGNORE) : MPI_File_write##SUFFIX##_end(file, out, MPI_STATUS_IGNORE); \
        write_down("File_", reads ? "Read" #SUFFIX "_end" : "Write" #SUFFIX "_end", 0, reads ? there : 0);            \
    } while (0)

enum { AT, AT_ALL, OWN, ALL, SHARED, ORDERED, I_AT, I_AT_ALL, I_OWN, I_ALL, I_SHARED, TWICE_AT_ALL, TWICE_ALL, TWICE_ORDERED, FORMS };

static MPI_File opened(int at)
{
    if (files[at]) return files[at];
    int first, rank, preallocates = 1;
    MPI_Offset length;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* Each communicator has a file of its own. */
    MPI(Allreduce)(&rank, &first, 1, MPI_INT, MPI_MIN, comms[at]), write_down_counted("", "Allreduce", 4, 4);
    snprintf(names[at], sizeof names[at], "file-%d-%d", at, first);
    MPI_File_open(comms[at], names[at], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &files[at]), write_down("", "File_open", 0, 0);
#ifdef OPEN_MPI
    /* In 4.1 it makes a file longer than it was asked for, and with several ranks now and then does not end. */
    MPI_Comm_size(comms[at], &preallocates);
    preallocates = preallocates == 1;
#endif
    if (preallocates) MPI_File_preallocate(files[at], LENGTH), write_down("", "File_preallocate", 0, 0);
    MPI_File_set_size(files[at], LENGTH), write_down("", "File_set_size", 0, 0);
    MPI_File_get_size(files[at], &length), write_down("", "File_get_size", 0, 0);
    MPI_File_set_view(files[at], 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), write_down("", "File_set_view", 0, 0);
    MPI_File_set_info(files[at], MPI_INFO_NULL), write_down("", "File_set_info", 0, 0);
    MPI_File_set_atomicity(files[at], 0), write_down("", "File_set_atomicity", 0, 0);
    return files[at];
}

void file(int number, int at)
{
    MPI_File file = opened(at);
    MPI_Request request = MPI_REQUEST_NULL;
    int me, form = number / 2 % FORMS;
    MPI_Comm_rank(comms[at], &me);
    reads = number % 2;
#ifdef OPEN_MPI
    /* This one now and then does not end. */
    if (form == TWICE_ORDERED) reads = 0;
#endif
    int t = drawn(TYPE, 0, 0, TYPES), n = elements(me, 0), is_shared = form == SHARED || form == I_SHARED || form == ORDERED || form == TWICE_ORDERED;
    /* Reads begin up to a little behind the file's end; not those that go on after the call, which do not end there under Open MPI 4.1, and not those of all ranks or into
     * gaps, of which MPICH 4.0's status says what they asked for. Each rank writes where no other does. */
    int may_be_short = (form == AT || form == OWN) && t < 3;
    long asked = (long)n * sizes[t], there = asked;
    long offset = reads ? drawn(WHERE, me, 0, may_be_short ? LENGTH + 100 : LENGTH - ROOM_OF_RANK) : me * ROOM_OF_RANK + drawn(WHERE, me, 0, (int)(ROOM_OF_RANK - asked));
    if (!is_shared && offset + asked > LENGTH) there = offset < LENGTH ? LENGTH - offset : 0;
    if (is_shared) {
        MPI_Offset found;
        MPI_File_seek_shared(file, 0, MPI_SEEK_SET), write_down("", "File_seek_shared", 0, 0);
        MPI_File_get_position_shared(file, &found), write_down("", "File_get_position_shared", 0, 0);
    } else if (form == OWN || form == ALL || form == I_OWN || form == I_ALL || form == TWICE_ALL) MPI_File_seek(file, offset, MPI_SEEK_SET), write_down("", "File_seek", 0, 0);
    MPI_Datatype type = types[t];
    long moved = reads ? there : asked;
    switch (form) {
    case AT: CALL(, _at, moved, file, offset, out, n, type, MPI_STATUS_IGNORE); break;
    case AT_ALL: CALL(, _at_all, moved, file, offset, out, n, type, MPI_STATUS_IGNORE); break;
    case OWN: CALL(, , moved, file, out, n, type, MPI_STATUS_IGNORE); break;
    case ALL: CALL(, _all, moved, file, out, n, type, MPI_STATUS_IGNORE); break;
    case SHARED: CALL(, _shared, moved, file, out, n, type, MPI_STATUS_IGNORE); break;
    case ORDERED: CALL(, _ordered, moved, file, out, n, type, MPI_STATUS_IGNORE); break;
    case I_AT: CALL(i, _at, moved, file, offset, out, n, type, &request); break;
    case I_AT_ALL: CALL(i, _at_all, moved, file, offset, out, n, type, &request); break;
    case I_OWN: CALL(i, , moved, file, out, n, type, &request); break;
    case I_ALL: CALL(i, _all, moved, file, out, n, type, &request); break;
    case I_SHARED: CALL(i, _shared, moved, file, out, n, type, &request); break;
    case TWICE_AT_ALL: CALL_TWICE(_at_all, file, offset, out, n, type); break;
    case TWICE_ALL: CALL_TWICE(_all, file, out, n, type); break;
    default: CALL_TWICE(_ordered, file, out, n, type);
    }
    if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE), write_down("", "Wait", 0, 0);
}

void end_files(void)
{
    for (int i = 0; i < COMMS; i++) {
        int me;
        if (!files[i]) continue;
        MPI_File_sync(files[i]), write_down("", "File_sync", 0, 0);
        MPI_File_close(&files[i]), write_down("", "File_close", 0, 0);
        MPI_Comm_rank(comms[i], &me);
        if (!me) MPI_File_delete(names[i], MPI_INFO_NULL), write_down("", "File_delete", 0, 0);
    }
}
