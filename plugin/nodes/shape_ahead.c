#define _POSIX_C_SOURCE 200809L
#include "shape_ahead.h"

#include <pthread.h>
#include <stdatomic.h>

struct firn_shape_ahead {
    pthread_t thread;
    atomic_bool stop;
    firn_mesh_reader *reader; // the thread's alone until it ends
    int frame;
    firn_vdb_mesh_def def;
    firn_vdb_shape *shape; // NULL: it could not be made
};

// Also called by TBB's workers. The thread sanitizer does not see that they begin after the flag
// was set, since libtbb is not instrumented: its reports about this read are none of races.
static bool is_stopped(void *user)
{
    firn_shape_ahead *ahead = user;
    return atomic_load(&ahead->stop);
}

static void *make_shape(void *user)
{
    firn_shape_ahead *ahead = user;
    firn_mesh_reader_shape(ahead->reader, ahead->frame, &ahead->def, &ahead->shape, NULL);
    return NULL;
}

firn_shape_ahead *firn_shape_ahead_start(firn_mesh_reader *reader, int frame,
                                         const firn_vdb_mesh_def *def)
{
    firn_shape_ahead *ahead = firn_alloc_zero(sizeof *ahead);
    if (ahead == NULL)
        return NULL;
    ahead->reader = reader;
    ahead->frame = frame;
    atomic_init(&ahead->stop, false);
    ahead->def = *def;
    ahead->def.stop = is_stopped;
    ahead->def.user = ahead;
    if (pthread_create(&ahead->thread, NULL, make_shape, ahead) != 0) {
        firn_free(ahead);
        return NULL;
    }
    return ahead;
}

firn_vdb_shape *firn_shape_ahead_finish(firn_shape_ahead *ahead)
{
    if (ahead == NULL)
        return NULL;
    pthread_join(ahead->thread, NULL);
    firn_vdb_shape *shape = ahead->shape;
    firn_free(ahead);
    return shape;
}

void firn_shape_ahead_cancel(firn_shape_ahead *ahead)
{
    if (ahead == NULL)
        return;
    atomic_store(&ahead->stop, true);
    firn_vdb_shape_destroy(firn_shape_ahead_finish(ahead));
}
