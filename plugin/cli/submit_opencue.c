/// A job specification for OpenCue, as its command line and Cuebot take it.
#define _POSIX_C_SOURCE 200809L
#include "submit.h"

#include <stdlib.h>
#include <string.h>

static void print_xml_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        default:
            fputc(*text, file);
        }
}

// The line of a shell, as text of XML.
static void print_command(FILE *file, const firn_job *job, const firn_task *task)
{
    char slot[64] = "#IFRAME#", *text = NULL;
    size_t size = 0;
    if (task->kind == FIRN_TASK_FRAMES && job->step > 1)
        snprintf(slot, sizeof slot, "#FRAME_START#-#FRAME_END#x%d", job->step);
    else if (task->kind == FIRN_TASK_FRAMES)
        snprintf(slot, sizeof slot, "#FRAME_START#-#FRAME_END#");
    FILE *line = open_memstream(&text, &size);
    if (line == NULL)
        return; // the file below is out of memory, too, and says so
    firn_print_shell_line(line, job, task, slot);
    if (fclose(line) == 0)
        print_xml_text(file, text);
    free(text);
}

static void print_range(FILE *file, const firn_job *job, const firn_task *task)
{
    if (task->kind != FIRN_TASK_FRAMES)
        fprintf(file, "        <range>0-%d</range>\n        <chunk>1</chunk>\n", task->parts - 1);
    else if (job->step > 1)
        fprintf(file, "        <range>%d-%dx%d</range>\n        <chunk>%d</chunk>\n", job->first,
                job->last, job->step, job->chunk);
    else
        fprintf(file, "        <range>%d-%d</range>\n        <chunk>%d</chunk>\n", job->first,
                job->last, job->chunk);
}

static void print_layer(FILE *file, const firn_job *job, const firn_task *task)
{
    fprintf(file, "      <layer name=\"%s\" type=\"Render\">\n        <cmd>", task->name);
    print_command(file, job, task);
    fputs("</cmd>\n", file);
    print_range(file, job, task);
    fprintf(file,
            "        <cores>%d.0</cores>\n"
            "        <threadable>True</threadable>\n"
            "        <memory>%dm</memory>\n"
            "        <timeout>%d</timeout>\n"
            "        <env/>\n"
            "        <services><service>shell</service></services>\n"
            "      </layer>\n",
            job->cpus, job->megabytes, task->minutes);
}

static void print_spec(FILE *file, const firn_job *job, const firn_task *task)
{
    (void)task;
    fprintf(file,
            "<?xml version=\"1.0\"?>\n"
            "<!DOCTYPE spec PUBLIC \"SPI Cue  Specification Language\" "
            "\"http://localhost:8080/spcue/dtd/cjsl-1.12.dtd\">\n"
            "<spec>\n"
            "  <facility>local</facility>\n"
            "  <show>testing</show>\n"
            "  <shot>%s</shot>\n"
            "  <user>firn</user>\n"
            "  <job name=\"%s\">\n"
            "    <paused>False</paused>\n"
            "    <priority>1</priority>\n"
            "    <maxretries>2</maxretries>\n"
            "    <autoeat>False</autoeat>\n"
            "    <env/>\n"
            "    <layers>\n",
            job->name, job->name);
    for (size_t i = 0; i < job->task_count; i++)
        print_layer(file, job, &job->tasks[i]);
    fputs("    </layers>\n  </job>\n  <depends>\n", file);
    for (size_t i = 1; i < job->task_count; i++)
        fprintf(file,
                "    <depend type=\"LAYER_ON_LAYER\" anyframe=\"False\">\n"
                "      <depjob>%s</depjob>\n      <deplayer>%s</deplayer>\n"
                "      <onjob>%s</onjob>\n      <onlayer>%s</onlayer>\n"
                "    </depend>\n",
                job->name, job->tasks[i].name, job->name, job->tasks[i - 1].name);
    fputs("  </depends>\n</spec>\n", file);
}

static firn_result write_opencue(const firn_job *job, const char *folder, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/job.xml", folder);
    return firn_job_write(job, NULL, print_spec, path, error);
}

const firn_queue firn_queue_opencue = {
    .name = "opencue",
    .file = "job.xml",
    .how = "python3 -c \"import opencue; opencue.api.launchSpec(open('%s').read())\"",
    .write = write_opencue,
};
