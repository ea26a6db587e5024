#include "helper_serve.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return EXIT_FAILURE;
    return firn_vdb_helper_serve(argv[1], strtod(argv[2], NULL));
}
