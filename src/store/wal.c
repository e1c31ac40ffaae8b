/* wal.c - room in the log ahead of its end
 *
 *     │ frames, newest last │ zeros ........│        the file, STORE_LOG_ROOM long
 *
 * A commit that makes the file longer waits for the file system's own log too; one that writes
 * over what is there waits for its bytes only. The log begins anew before it is longer than
 * its room (STORE_LOG_PAGES), so that room is made once. SQLite reads the log up to the
 * first frame whose sum is wrong: zeros are behind the end for it.
 */
#include "store/sqlite_priv.h"

#define PIECE ((sqlite3_int64)512 << 10)  /* at one go: what a commit may have to wait for */
#define AT_ONCE ((sqlite3_int64)64 << 10) /* in one write */

bool wal_make_room(sqlite3 *db)
{
    static const char zeros[AT_ONCE];
    sqlite3_file *log = NULL;
    sqlite3_int64 at;

    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
        !log || !log->pMethods || log->pMethods->xFileSize(log, &at) != SQLITE_OK)
        return false;
    sqlite3_int64 end = MIN(at + PIECE, STORE_LOG_ROOM);
    for (sqlite3_int64 n; at < end; at += n) {
        n = MIN(AT_ONCE, end - at);
        if (log->pMethods->xWrite(log, zeros, (int)n, at) != SQLITE_OK)
            return false; /* a full disk has no room to spare */
    }
    return log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) == SQLITE_OK && end < STORE_LOG_ROOM;
}
