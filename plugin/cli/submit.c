/// `firn submit`: a shot as jobs of a queue that is there already.
#define _XOPEN_SOURCE 700
#include "submit.h"

#include "meter.h"
#include "shot.h"

#include "firn/shot.h"
#include "firn/wedge.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_SIZE = 2048, CHUNK = 10, LATER_MINUTES = 60 };

typedef struct request {
    firn_shot_words shot;
    firn_words vary;
    const char *to, *output, *program, *chunk, *memory, *minutes, *cpus, *wedge, *ranks;
} request;

/// Texts that the words of tasks point to.
typedef struct texts {
    char scene[FIRN_PATH_SIZE], base[FIRN_PATH_SIZE], folder[FIRN_PATH_SIZE];
    char simulated[NAMES_SIZE], later[NAMES_SIZE];
    char cpus[16];
} texts;

static const firn_queue *const queues[] = {&firn_queue_slurm, &firn_queue_openjd,
                                           &firn_queue_opencue, &firn_queue_tractor};

const char firn_task_slot[] = "";

// --- What the files of all queues are made of ----------------------------------------------------

const char *firn_job_frames(const firn_job *job, int part, char *text, size_t size)
{
    int first = job->first + part * job->chunk * job->step;
    int last = first + (job->chunk - 1) * job->step;
    last = last < job->last ? last : job->last;
    if (job->step > 1)
        snprintf(text, size, "%d-%dx%d", first, last, job->step);
    else
        snprintf(text, size, "%d-%d", first, last);
    return text;
}

void firn_print_shell_word(FILE *file, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./=,:+@%";
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        fputs(word, file);
        return;
    }
    fputc('\'', file);
    for (; *word != '\0'; word++)
        if (*word == '\'')
            fputs("'\\''", file);
        else
            fputc(*word, file);
    fputc('\'', file);
}

void firn_print_shell_line(FILE *file, const firn_job *job, const firn_task *task, const char *slot)
{
    firn_print_shell_word(file, job->program);
    for (size_t i = 0; i < task->line.count; i++) {
        fputc(' ', file);
        if (task->line.words[i] == firn_task_slot)
            fputs(slot, file);
        else
            firn_print_shell_word(file, task->line.words[i]);
    }
}

firn_result firn_job_write(const firn_job *job, const firn_task *task, firn_job_print *print,
                           const char *path, firn_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory != NULL)
        print(memory, job, task);
    bool whole = memory != NULL && !ferror(memory);
    if (memory != NULL && fclose(memory) != 0)
        whole = false;
    firn_file_writer *file = NULL;
    firn_result result =
        whole ? firn_file_create(path, &file, error)
              : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot write '%.600s'", path);
    if (result == FIRN_OK) {
        firn_file_write(file, text, size);
        result = firn_file_commit(file, error);
    }
    free(text);
    return result;
}

// --- The tasks -----------------------------------------------------------------------------------

static void add(firn_task *task, const char *word)
{
    if (task->line.count < FIRN_WORDS_MAX)
        task->line.words[task->line.count++] = word;
}

static void add_option(firn_task *task, const char *option, const char *value)
{
    if (value == NULL)
        return;
    add(task, option);
    add(task, value);
}

// The options of the shot as they were given here, so that every task cooks the same shot.
static firn_task *begin_task(firn_job *job, const request *own, const texts *t, const char *name)
{
    firn_task *task = &job->tasks[job->task_count++];
    *task = (firn_task){.name = name, .parts = 1};
    add(task, own->wedge != NULL || own->vary.count > 0 ? "wedge" : "resume");
    add(task, t->scene);
    for (size_t i = 0; i < own->shot.sets.count; i++)
        add_option(task, "--set", own->shot.sets.words[i]);
    add_option(task, "--base", t->base[0] != '\0' ? t->base : NULL);
    add_option(task, "--quality", own->shot.quality);
    add_option(task, "--max-memory", own->shot.memory);
    add_option(task, "--threads", t->cpus);
    return task;
}

static void plan_variants(firn_job *job, const request *own, const texts *t, size_t variants)
{
    firn_task *task = begin_task(job, own, t, "variants");
    task->kind = FIRN_TASK_VARIANTS;
    task->parts = (int)variants;
    for (size_t i = 0; i < own->vary.count; i++)
        add_option(task, "--vary", own->vary.words[i]);
    add_option(task, "--frames", own->shot.frames);
    add(task, "--resume");
    add_option(task, "--only", firn_task_slot);
}

static void plan_shot(firn_job *job, const request *own, const texts *t)
{
    firn_task *simulate = begin_task(job, own, t, "simulate");
    simulate->ranks = job->ranks;
    add_option(simulate, "--frames", own->shot.frames);
    if (t->later[0] == '\0')
        return;
    add_option(simulate, "--only", t->simulated);
    firn_task *later = begin_task(job, own, t, "later");
    later->kind = FIRN_TASK_FRAMES;
    later->parts = ((job->last - job->first) / job->step + job->chunk) / job->chunk;
    add(later, "--from-cache");
    add_option(later, "--frames", firn_task_slot);
}

// --- What they take ------------------------------------------------------------------------------

static bool read_count(const char *text, int most, int *value)
{
    return text == NULL || firn_read_int(text, 1, most, value);
}

static int read_limits(const request *own, firn_job *job, int *minutes)
{
    const char *cpus = own->cpus != NULL ? own->cpus : own->shot.threads;
    long here = sysconf(_SC_NPROCESSORS_ONLN);
    job->cpus = here > 0 ? (int)here : 1;
    job->chunk = CHUNK;
    if (cpus != NULL && strcmp(cpus, "0") == 0)
        cpus = NULL;
    if (!read_count(cpus, 1024, &job->cpus))
        return firn_usage("submit", "--cpus must be 1 to 1024, not '%s'", cpus);
    if (!read_count(own->chunk, 100000, &job->chunk))
        return firn_usage("submit", "--chunk must be 1 to 100000 frames, not '%s'", own->chunk);
    if (!read_count(own->memory, INT_MAX, &job->megabytes))
        return firn_usage("submit", "--memory must be MB, not '%s'", own->memory);
    job->ranks = 1;
    if (!read_count(own->ranks, 65536, &job->ranks))
        return firn_usage("submit", "--ranks must be 1 to 65536, not '%s'", own->ranks);
    if (job->ranks > 1 && strcmp(own->to, "slurm") != 0)
        return firn_usage("submit",
                          "--ranks is for slurm; %s gives a task one machine, on which "
                          "threads do the same",
                          own->to);
    if (job->ranks > 1 && (own->wedge != NULL || own->vary.count > 0))
        return firn_usage("submit", "--ranks is of one shot; variants of a wedge are tasks of one "
                                    "machine each");
    if (!read_count(own->minutes, 525600, minutes))
        return firn_usage("submit", "--minutes must be 1 to 525600, not '%s'", own->minutes);
    return FIRN_EXIT_OK;
}

// A quarter more memory than estimated, and twice the time: a task that runs out of time goes on
// where it was, one that runs out of memory does not.
static int estimate(firn_graph *graph, const firn_bake_def *def, firn_job *job, int *minutes)
{
    if (job->megabytes > 0 && *minutes > 0)
        return FIRN_EXIT_OK;
    firn_estimate *e = firn_alloc_zero(sizeof *e);
    firn_error error = {0};
    firn_result result =
        e == NULL ? firn_fail(&error, FIRN_ERR_MEMORY, "out of memory: cannot estimate the shot")
                  : firn_graph_estimate(graph, def, e, &error);
    if (result == FIRN_OK && job->megabytes == 0)
        job->megabytes =
            256 + 64 * (int)ceil(1.25 * firn_estimate_ranks(e, job->ranks).first / 64e6);
    if (result == FIRN_OK && *minutes == 0)
        *minutes = (int)fmin(525600.0, fmax(10.0, ceil(2.0 * e->seconds_high / 60.0)));
    firn_free(e);
    return firn_exit_of(result, &error);
}

// --- Places --------------------------------------------------------------------------------------

// Words of job files end with their line, and braces of two mean something in templates.
static int check_words(const firn_job *job)
{
    for (size_t i = 0; i < job->task_count; i++)
        for (size_t k = 0; k < job->tasks[i].line.count; k++) {
            const char *word = job->tasks[i].line.words[k];
            for (const char *c = word; *c != '\0'; c++)
                if (iscntrl((unsigned char)*c))
                    return firn_usage("submit", "'%s' has a character that no job file can hold",
                                      word);
            if (strstr(word, "{{") != NULL)
                return firn_usage("submit", "'%s' has '{{', which means something in templates",
                                  word);
        }
    return FIRN_EXIT_OK;
}

static int find_places(const request *own, const char *scene, texts *t)
{
    if (realpath(scene, t->scene) == NULL)
        return firn_shot_refuse(NULL, FIRN_EXIT_MISSING, "there is no scene '%s'", scene);
    const char *base = own->shot.base;
    char here[FIRN_PATH_SIZE];
    if (base != NULL && (base[0] == '/' || base[0] == '$'))
        snprintf(t->base, sizeof t->base, "%s", base);
    else if (base != NULL && getcwd(here, sizeof here) != NULL &&
             (size_t)snprintf(t->base, sizeof t->base, "%s/%s", here, base) >= sizeof t->base)
        return firn_usage("submit", "--base is too long");
    if ((size_t)snprintf(t->folder, sizeof t->folder, "%s", own->output) > 3500)
        return firn_usage("submit", "-o is too long");
    return FIRN_EXIT_OK;
}

// Files of a job that is there may be those of one that runs.
static int make_folder(const firn_queue *queue, const texts *t)
{
    char path[FIRN_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", t->folder, queue->file);
    if (access(path, F_OK) == 0)
        return firn_shot_refuse(NULL, FIRN_EXIT_EXISTS,
                                "'%.800s' is there already; -o takes another folder", path);
    if (mkdir(t->folder, 0777) != 0 && errno != EEXIST)
        return firn_shot_refuse(NULL, FIRN_EXIT_FAILED, "cannot make the folder '%.800s': %s",
                                t->folder, strerror(errno));
    return FIRN_EXIT_OK;
}

static void name_job(const firn_graph *graph, firn_job *job)
{
    snprintf(job->name, sizeof job->name, "%.120s", firn_graph_shot(graph)->name);
    for (char *c = job->name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && *c != '-')
            *c = '_';
}

// --- The command ---------------------------------------------------------------------------------

static int count_variants(const request *own, const firn_graph *graph, size_t *count)
{
    firn_wedge *wedge = NULL;
    firn_error error;
    firn_result result = firn_wedge_create(graph, own->vary.words, own->vary.count, &wedge, &error);
    if (result != FIRN_OK)
        return result == FIRN_ERR_ARGUMENT ? firn_usage("submit", "%s", error.message)
                                           : firn_exit_of(result, &error);
    *count = firn_wedge_count(wedge);
    firn_wedge_destroy(wedge);
    return FIRN_EXIT_OK;
}

static int plan(const request *own, firn_graph *graph, firn_job *job, texts *t)
{
    firn_bake_def def;
    firn_error error = {0};
    firn_shot_frames(own->shot.frames, graph, &def);
    job->first = def.first;
    job->last = def.last;
    job->step = def.step;
    name_job(graph, job);
    int minutes = 0, code = read_limits(own, job, &minutes);
    if (code == FIRN_EXIT_OK)
        code = firn_shot_check_cook(graph, NULL);
    if (code == FIRN_EXIT_OK)
        code = firn_exit_of(
            firn_graph_stages(graph, t->simulated, t->later, sizeof t->later, &error), &error);
    snprintf(t->cpus, sizeof t->cpus, "%d", job->cpus);
    size_t variants = 0;
    bool wedge = own->wedge != NULL || own->vary.count > 0;
    if (code == FIRN_EXIT_OK && wedge)
        code = count_variants(own, graph, &variants);
    if (code == FIRN_EXIT_OK)
        code = estimate(graph, &def, job, &minutes);
    if (code != FIRN_EXIT_OK)
        return code;
    if (wedge)
        plan_variants(job, own, t, variants);
    else
        plan_shot(job, own, t);
    for (size_t i = 0; i < job->task_count; i++)
        job->tasks[i].minutes = job->tasks[i].kind == FIRN_TASK_FRAMES && own->minutes == NULL
                                    ? LATER_MINUTES
                                    : minutes;
    return check_words(job);
}

static void tell(const firn_job *job, const firn_queue *queue, const texts *t)
{
    char path[FIRN_PATH_SIZE + 64];
    for (size_t i = 0; i < job->task_count; i++)
        printf("%-9s %d task%s%s, %d CPUs, %d MB, %d minutes at most\n", job->tasks[i].name,
               job->tasks[i].parts, job->tasks[i].parts == 1 ? "" : "s",
               job->tasks[i].ranks > 1 ? " of many machines" : "", job->cpus, job->megabytes,
               job->tasks[i].minutes);
    snprintf(path, sizeof path, "%s/%s", t->folder, queue->file);
    printf("nothing was submitted; to do so:\n  ");
    const char *at = strstr(queue->how, "%s");
    printf("%.*s%s%s\n", (int)(at - queue->how), queue->how, path, at + 2);
}

static int write_job(const request *own, const char *scene, const firn_queue *queue, firn_job *job,
                     texts *t)
{
    firn_graph *graph = NULL;
    firn_error error = {0};
    int code = firn_shot_load("submit", scene, &own->shot, &graph, NULL);
    if (code == FIRN_EXIT_OK)
        code = find_places(own, scene, t);
    if (code == FIRN_EXIT_OK)
        code = plan(own, graph, job, t);
    firn_graph_destroy(graph);
    for (size_t i = 0; code == FIRN_EXIT_OK && i < job->task_count; i++)
        if (queue->parts_max > 0 && job->tasks[i].parts > queue->parts_max)
            code = firn_usage("submit", "%s takes %d tasks of a kind, not %d: larger chunks",
                              queue->name, queue->parts_max, job->tasks[i].parts);
    if (code == FIRN_EXIT_OK)
        code = make_folder(queue, t);
    if (code == FIRN_EXIT_OK)
        code = firn_exit_of(queue->write(job, t->folder, &error), &error);
    if (code == FIRN_EXIT_OK)
        tell(job, queue, t);
    return code;
}

static int run(const void *memory, const firn_words *words)
{
    const request *own = memory;
    const firn_queue *queue = NULL;
    for (size_t i = 0; own->to != NULL && i < FIRN_COUNT(queues); i++)
        if (strcmp(queues[i]->name, own->to) == 0)
            queue = queues[i];
    if (queue == NULL)
        return firn_usage("submit", "--to takes slurm, openjd, opencue or tractor, not '%s'",
                          own->to != NULL ? own->to : "");
    if (own->output == NULL || own->output[0] == '\0')
        return firn_usage("submit", "-o DIR is needed, the folder for the files of the job");
    firn_job *job = firn_alloc_zero(sizeof *job);
    texts *t = firn_alloc_zero(sizeof *t);
    int code = FIRN_EXIT_MEMORY;
    if (job != NULL && t != NULL) {
        job->program = own->program != NULL ? own->program : "firn";
        code = write_job(own, words->words[0], queue, job, t);
    }
    firn_free(t);
    firn_free(job);
    return code;
}

#define ROW(field) offsetof(request, field)

static const firn_option options[] = {
    {"--to", "QUEUE", "slurm, openjd, opencue or tractor", ROW(to)},
    {"-o", "DIR", "folder for the files of the job", ROW(output)},
    {"--chunk", "N", "frames in a task of the stages behind the simulation; 10 unless given",
     ROW(chunk)},
    {"--wedge", NULL, "one task for each variant of the scene's \"vary\"", ROW(wedge)},
    {"--vary", "NODE.PARAM=...", "the same for these variants, as `firn wedge` takes them",
     ROW(vary), true},
    {"--memory", "MB", "of a task; estimated unless given", ROW(memory)},
    {"--minutes", "N", "most that a task may take; estimated unless given", ROW(minutes)},
    {"--cpus", "N", "cores of a task; those of this machine unless given", ROW(cpus)},
    {"--ranks", "N", "slurm: simulates on N machines at once, under mpirun", ROW(ranks)},
    {"--program", "PATH", "the firn of the farm; firn unless given", ROW(program)},
};

const firn_command firn_command_submit = {
    .name = "submit",
    .summary = "writes a shot as jobs of a queue; submits nothing",
    .usage = "SHOT.firn --to slurm|openjd|opencue|tractor -o DIR [OPTIONS]",
    .about = "Writes job files for a queue that is there already. The simulation is one task; it\n"
             "writes a checkpoint when it is stopped and goes on when it is started again, on\n"
             "any machine. Stages behind it (rasterize, volumes, pictures) are one task for each\n"
             "chunk of frames, variants of a wedge one task each. Memory and time come from\n"
             "`firn estimate` on this machine.",
    .example = "  firn submit shot.firn --to slurm -o jobs/shot && bash jobs/shot/submit.sh\n"
               "  firn submit shot.firn --quality final --to openjd -o jobs/shot --cpus 16\n"
               "  firn submit shot.firn --vary snow.hardening=5,10,20 --to slurm -o jobs/wedge",
    .own = {options, FIRN_COUNT(options)},
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run,
};
