/// `firn report`: a page about a cache that opens in any browser.
#include "firn/report.h"

#include "output.h"

#include <stdio.h>

typedef struct request {
    const char *output;
} request;

static int run_report(const void *memory, const firn_words *words)
{
    const request *own = memory;
    const char *output = own->output != NULL ? own->output : "report.html";
    if (!firn_output_ends(output, ".html") && !firn_output_ends(output, ".htm"))
        return firn_usage("report", "-o takes a .html, not '%s'", output);
    firn_error error;
    firn_result result = firn_output_check(output, &error);
    if (result == FIRN_OK)
        result = firn_report_write(words->words[0], output, &error);
    if (result == FIRN_OK)
        printf("%s\n", output);
    return firn_exit_of(result, &error);
}

static const firn_option options[] = {
    {"-o", "FILE.html", "report.html unless given", offsetof(request, output)},
};

const firn_command firn_command_report = {
    .name = "report",
    .summary = "makes a page about a cache: plots, pictures, settings",
    .usage = "CACHE [-o report.html]",
    .about = "Writes one HTML page that needs no network and no other file: seconds, substeps,\n"
             "iterations, energies, speed, particles and memory of every frame as plots, pictures\n"
             "of some frames, and the settings. The cache may still be cooking. The folder of a\n"
             "wedge gives a table of its variants with their numbers, and each of them below.",
    .example = "  firn report cache/snowball_smash/v1\n"
               "  firn report cache/snowball_smash/v1 -o smash.html",
    .own = {options, FIRN_COUNT(options)},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run_report,
};
