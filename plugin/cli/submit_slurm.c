/// Job files for Slurm: a batch script for each task, and one that submits them in their order.
#include "submit.h"

// The warning comes early enough for a checkpoint of a large shot, and never at once.
static int warning_seconds(const firn_task *task)
{
    int quarter = task->minutes * 60 / 4;
    return quarter < 120 ? quarter : 120;
}

// The part of this element of the array.
static void print_part(FILE *file, const firn_job *job, const firn_task *task)
{
    if (task->kind != FIRN_TASK_FRAMES)
        return;
    int reach = job->chunk * job->step;
    fprintf(file,
            "first=$((%d + SLURM_ARRAY_TASK_ID * %d))\n"
            "last=$((first + %d))\n"
            "[ \"$last\" -le %d ] || last=%d\n"
            "frames=$first-${last}",
            job->first, reach, reach - job->step, job->last, job->last);
    if (job->step > 1)
        fprintf(file, "x%d", job->step);
    fputs("\n\n", file);
}

// SIGUSR2 is Slurm's warning before the time is up: checkpoint, and back into the queue. SIGTERM is
// somebody who wants the job gone: checkpoint, and out.
static void print_run(FILE *file, const firn_job *job, const firn_task *task)
{
    static const char *const slots[] = {"", "\"$frames\"", "\"$SLURM_ARRAY_TASK_ID\""};
    fputs("child= out_of_time=no code=0\n"
          "trap 'out_of_time=yes; [ -z \"$child\" ] || kill -TERM \"$child\"' USR2\n"
          "trap '[ -z \"$child\" ] || kill -TERM \"$child\"' TERM INT\n\n",
          file);
    // Its own limit for the end of stopped processes would be too short for a checkpoint.
    if (task->ranks > 1)
        fprintf(file,
                "mpirun -n %d --map-by node --bind-to none --mca odls_base_sigkill_timeout %d ",
                task->ranks, warning_seconds(task));
    firn_print_shell_line(file, job, task, slots[task->kind]);
    fputs(" &\n"
          "child=$!\n"
          "while kill -0 \"$child\" 2>/dev/null; do\n"
          "    wait \"$child\"\n"
          "    code=$?\n"
          "done\n"
          "if [ $out_of_time = yes ] && [ $code -ne 0 ]; then\n"
          "    echo \"out of time: back into the queue\"\n"
          "    scontrol requeue \"$SLURM_JOB_ID\"\n"
          "fi\n"
          "exit $code\n",
          file);
}

static void print_script(FILE *file, const firn_job *job, const firn_task *task)
{
    fprintf(file,
            "#!/bin/bash\n"
            "#SBATCH --job-name=%s_%s\n"
            "#SBATCH --output=logs/%%x_%%%s.log\n"
            "#SBATCH --open-mode=append\n"
            "#SBATCH --requeue\n"
            "#SBATCH --signal=B:USR2@%d\n"
            "#SBATCH --time=%d\n"
            "#SBATCH --mem=%dM\n"
            "#SBATCH --cpus-per-task=%d\n",
            job->name, task->name, task->kind == FIRN_TASK_ONE ? "j" : "A_%a",
            warning_seconds(task), task->minutes, job->megabytes, job->cpus);
    if (task->ranks > 1)
        fprintf(file, "#SBATCH --nodes=%d\n#SBATCH --ntasks-per-node=1\n", task->ranks);
    if (task->kind != FIRN_TASK_ONE)
        fprintf(file, "#SBATCH --array=0-%d\n", task->parts - 1);
    fputc('\n', file);
    print_part(file, job, task);
    print_run(file, job, task);
}

static void print_submission(FILE *file, const firn_job *job, const firn_task *task)
{
    (void)task;
    fputs("#!/bin/bash\n"
          "# Submits the job; options of sbatch may follow, as --partition=farm.\n"
          "set -euo pipefail\n"
          "cd \"$(dirname \"$(realpath \"$0\")\")\"\n"
          "mkdir -p logs\n",
          file);
    for (size_t i = 0; i < job->task_count; i++) {
        fprintf(file, "%s=$(sbatch --parsable ", job->tasks[i].name);
        if (i > 0)
            fprintf(file, "--dependency=afterok:\"${%s%%%%;*}\" --kill-on-invalid-dep=yes ",
                    job->tasks[i - 1].name);
        fprintf(file, "\"$@\" %s.sbatch)\necho \"%s: job ${%s%%%%;*}\"\n", job->tasks[i].name,
                job->tasks[i].name, job->tasks[i].name);
    }
}

static firn_result write_slurm(const firn_job *job, const char *folder, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    for (size_t i = 0; i < job->task_count; i++) {
        snprintf(path, sizeof path, "%s/%s.sbatch", folder, job->tasks[i].name);
        FIRN_TRY(firn_job_write(job, &job->tasks[i], print_script, path, error));
    }
    snprintf(path, sizeof path, "%s/submit.sh", folder);
    return firn_job_write(job, NULL, print_submission, path, error);
}

const firn_queue firn_queue_slurm = {
    .name = "slurm",
    .file = "submit.sh",
    .how = "bash %s",
    .write = write_slurm,
};
