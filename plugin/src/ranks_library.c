/// libfirn_mpi, which is loaded when a launcher has started several processes: nothing else of Firn
/// needs MPI.
#include "graph_state.h"

#include "firn/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What is taken from the library; firn/mpi.h has the same functions.
struct firn_ranks {
    void *library;
    void *mpi;
    const firn_exchange *exchange;
    void (*close)(void *mpi);
};

static int number_of(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? (int)strtol(text, NULL, 10) : 0;
}

int firn_ranks_launched(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < FIRN_COUNT(names); i++)
        if (number_of(names[i]) > 0)
            return number_of(names[i]);
    // Batch scripts have the number of tasks as well, but are no step of them.
    return getenv("SLURM_STEP_ID") != NULL ? number_of("SLURM_STEP_NUM_TASKS") : 0;
}

int firn_ranks_local(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "PMI_LOCAL_SIZE"};
    for (size_t i = 0; i < FIRN_COUNT(names); i++)
        if (number_of(names[i]) > 0)
            return number_of(names[i]);
    return 0;
}

static firn_result join(firn_ranks *ranks, firn_error *error)
{
    firn_result (*open)(void **mpi, firn_error *error) = NULL;
    const firn_exchange *(*exchange)(const void *mpi) = NULL;
    FIRN_TRY(firn_library_open("libfirn_mpi.so.0",
                               "it comes with Firn where MPI was found when Firn was built; "
                               "without it start the command without a launcher",
                               &ranks->library, error));
    FIRN_TRY(firn_library_symbol(ranks->library, "firn_mpi_open", &open, error));
    FIRN_TRY(firn_library_symbol(ranks->library, "firn_mpi_exchange", &exchange, error));
    FIRN_TRY(firn_library_symbol(ranks->library, "firn_mpi_close", &ranks->close, error));
    FIRN_TRY(open(&ranks->mpi, error));
    ranks->exchange = exchange(ranks->mpi);
    int launched = firn_ranks_launched();
    if (launched > 1 && ranks->exchange->rank_count == 1)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "the launcher started %d processes, but MPI knows of one only: it is of "
                         "another MPI; use the mpirun of OpenMPI, or srun --mpi=pmix",
                         launched);
    return FIRN_OK;
}

firn_result firn_ranks_open(firn_ranks **ranks, firn_error *error)
{
    *ranks = NULL;
    firn_ranks *own = firn_alloc_zero(sizeof *own);
    if (own == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot join the ranks");
    firn_result result = join(own, error);
    if (result != FIRN_OK) {
        firn_ranks_close(own);
        return result;
    }
    *ranks = own;
    return FIRN_OK;
}

const firn_exchange *firn_ranks_exchange(const firn_ranks *ranks) { return ranks->exchange; }

void firn_ranks_close(firn_ranks *ranks)
{
    if (ranks == NULL)
        return;
    if (ranks->mpi != NULL)
        ranks->close(ranks->mpi);
    firn_free(ranks); // the library stays: MPI ends with the process
}
