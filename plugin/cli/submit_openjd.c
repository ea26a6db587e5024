/// A job template of the Open Job Description, version 2023-09: AWS Deadline Cloud and others.
#include "json.h"
#include "submit.h"

enum { NOTICE_SECONDS = 120 }; // between the wish to stop and the end: time for a checkpoint

static void print_args(FILE *file, const firn_task *task)
{
    static const char *const slots[] = {"", "{{Task.Param.Frames}}", "{{Task.Param.Variant}}"};
    for (size_t i = 0; i < task->line.count; i++) {
        const char *word = task->line.words[i];
        fputs(i > 0 ? ", " : "", file);
        firn_print_json_text(file, word == firn_task_slot ? slots[task->kind] : word);
    }
}

static void print_space(FILE *file, const firn_job *job, const firn_task *task)
{
    char frames[64];
    if (task->kind == FIRN_TASK_ONE)
        return;
    fputs(",\n      \"parameterSpace\": {\"taskParameterDefinitions\": [\n        ", file);
    if (task->kind == FIRN_TASK_VARIANTS) {
        fprintf(file, "{\"name\": \"Variant\", \"type\": \"INT\", \"range\": \"0-%d\"}\n      ]}",
                task->parts - 1);
        return;
    }
    fputs("{\"name\": \"Frames\", \"type\": \"STRING\", \"range\": [", file);
    for (int part = 0; part < task->parts; part++)
        fprintf(file, "%s\"%s\"", part > 0 ? ", " : "",
                firn_job_frames(job, part, frames, sizeof frames));
    fputs("]}\n      ]}", file);
}

static void print_step(FILE *file, const firn_job *job, size_t index)
{
    const firn_task *task = &job->tasks[index];
    fprintf(file, "%s\n    {\n      \"name\": \"%s\"", index > 0 ? "," : "", task->name);
    if (index > 0)
        fprintf(file, ",\n      \"dependencies\": [{\"dependsOn\": \"%s\"}]",
                job->tasks[index - 1].name);
    print_space(file, job, task);
    fprintf(file,
            ",\n      \"hostRequirements\": {\"amounts\": [\n"
            "        {\"name\": \"amount.worker.vcpu\", \"min\": %d},\n"
            "        {\"name\": \"amount.worker.memory\", \"min\": %d}\n"
            "      ]}",
            job->cpus, job->megabytes);
    fputs(",\n      \"script\": {\"actions\": {\"onRun\": {\n"
          "        \"command\": \"{{Param.Program}}\",\n"
          "        \"args\": [",
          file);
    print_args(file, task);
    fprintf(file,
            ", \"--progress\", \"openjd\"],\n"
            "        \"timeout\": %d,\n"
            "        \"cancelation\": {\"mode\": \"NOTIFY_THEN_TERMINATE\", "
            "\"notifyPeriodInSeconds\": %d}\n"
            "      }}}\n    }",
            60 * task->minutes, NOTICE_SECONDS);
}

static void print_template(FILE *file, const firn_job *job, const firn_task *task)
{
    (void)task;
    fprintf(file,
            "{\n"
            "  \"specificationVersion\": \"jobtemplate-2023-09\",\n"
            "  \"name\": \"%s\",\n"
            "  \"parameterDefinitions\": [\n"
            "    {\"name\": \"Program\", \"type\": \"STRING\", \"default\": ",
            job->name);
    firn_print_json_text(file, job->program);
    fputs("}\n  ],\n  \"steps\": [", file);
    for (size_t i = 0; i < job->task_count; i++)
        print_step(file, job, i);
    fputs("\n  ]\n}\n", file);
}

static firn_result write_openjd(const firn_job *job, const char *folder, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/template.json", folder);
    return firn_job_write(job, NULL, print_template, path, error);
}

const firn_queue firn_queue_openjd = {
    .name = "openjd",
    .file = "template.json",
    .how = "openjd check %s   # then hand it to your queue",
    .parts_max = 1024,
    .write = write_openjd,
};
