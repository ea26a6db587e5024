#include "helper_serve.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return EXIT_FAILURE;
    return firn_vdb_helper_serve(argv[1], strtoull(argv[2], NULL, 10),
                                 (unsigned)strtoul(argv[3], NULL, 10));
}
