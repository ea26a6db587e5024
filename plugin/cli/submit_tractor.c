/// A job script for Tractor, in the form that it has from Alfred.
#include "submit.h"

#include <string.h>

// A word of Tcl: as it is where it is plain, else with a backslash before what Tcl would read.
static void print_tcl_word(FILE *file, const char *word)
{
    if (word[0] == '\0')
        fputs("{}", file);
    for (; *word != '\0'; word++) {
        if (strchr(" {}[]$\"\\;#~", *word) != NULL)
            fputc('\\', file);
        fputc(*word, file);
    }
}

// Exit codes 130 and 143 are a cook that was stopped and goes on when it is started again.
static void print_command(FILE *file, const firn_job *job, const firn_task *task, const char *slot)
{
    fputs("RemoteCmd {", file);
    print_tcl_word(file, job->program);
    for (size_t i = 0; i < task->line.count; i++) {
        fputc(' ', file);
        print_tcl_word(file, task->line.words[i] == firn_task_slot ? slot : task->line.words[i]);
    }
    fprintf(file,
            "} -service {PixarRender} -atleast %d -atmost %d -retryrc {130 143} -maxrunsecs %d",
            job->cpus, job->cpus, 60 * task->minutes);
}

static void print_task(FILE *file, const firn_job *job, const firn_task *task)
{
    char slot[64];
    if (task->kind == FIRN_TASK_ONE) {
        fprintf(file, "    Task {%s} -cmds {\n        ", task->name);
        print_command(file, job, task, "");
        fputs("\n    }\n", file);
        return;
    }
    fprintf(file, "    Task {%s} -subtasks {\n", task->name);
    for (int part = 0; part < task->parts; part++) {
        snprintf(slot, sizeof slot, "%d", part);
        if (task->kind == FIRN_TASK_FRAMES)
            firn_job_frames(job, part, slot, sizeof slot);
        fprintf(file, "        Task {%s %s} -cmds {\n            ", task->name, slot);
        print_command(file, job, task, slot);
        fputs("\n        }\n", file);
    }
    fputs("    }\n", file);
}

static void print_script(FILE *file, const firn_job *job, const firn_task *task)
{
    (void)task;
    // Blades have no amount of memory to ask for: who spools the job sees it here.
    fprintf(file,
            "##AlfredToDo 3.0\nJob -title {%s} -comment {%d MB and %d cores for each task} "
            "-serialsubtasks 1 -subtasks {\n",
            job->name, job->megabytes, job->cpus);
    for (size_t i = 0; i < job->task_count; i++)
        print_task(file, job, &job->tasks[i]);
    fputs("}\n", file);
}

static firn_result write_tractor(const firn_job *job, const char *folder, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/job.alf", folder);
    return firn_job_write(job, NULL, print_script, path, error);
}

const firn_queue firn_queue_tractor = {
    .name = "tractor",
    .file = "job.alf",
    .how = "tractor-spool %s",
    .write = write_tractor,
};
