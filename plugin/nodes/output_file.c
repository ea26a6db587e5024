#include "output_file.h"

#include "firn/data.h"

#include <string.h>

static const firn_param params[] = {
    {FIRN_PARAM(firn_output, name), FIRN_STRING, .unit = "",
     .help = "First part of the file names; empty: the name of the graph"},
};

firn_param_table firn_output_params(void)
{
    firn_param_table table = {params, FIRN_COUNT(params)};
    return table;
}

firn_result firn_output_check(const firn_output *output, firn_error *error)
{
    if (strchr(output->name, '/') != NULL || output->name[0] == '.')
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "name is '%s'; it must not have a '/' or begin with '.', the folder is "
                         "that of the cache",
                         output->name);
    return FIRN_OK;
}

firn_output_meta firn_output_meta_of(const char *version)
{
    firn_output_meta meta = {
        {{"firn_version", "string", version}, {"firn_units", "string", FIRN_UNITS}}};
    return meta;
}
