/// A shot as jobs of a queue: what `firn submit` writes for each kind of queue. It submits nothing.
///
/// A job is a short list of tasks, each after the one before. The simulation is one task that can
/// be stopped and goes on by itself; stages behind it are one task for each chunk of frames,
/// variants of a wedge one task each.
#ifndef FIRN_CLI_SUBMIT_H
#define FIRN_CLI_SUBMIT_H

#include "command.h"

#include "firn/file.h"

#include <stdio.h>

enum { FIRN_TASK_MAX = 2, FIRN_JOB_NAME_SIZE = 128 };

/// Stands in a task's line for what differs between its parts: a range of frames, or a number.
extern const char firn_task_slot[];

typedef enum firn_task_kind {
    FIRN_TASK_ONE,      // no parts
    FIRN_TASK_FRAMES,   // one for each chunk of frames
    FIRN_TASK_VARIANTS, // one for each variant of a wedge
} firn_task_kind;

typedef struct firn_task {
    const char *name; // "simulate"
    firn_task_kind kind;
    int parts;       // at least 1
    int ranks;       // machines that do a part together; 0: one
    firn_words line; // the words after the program
    int minutes;     // most that a part may take; it is stopped, and goes on, before that
} firn_task;

typedef struct firn_job {
    char name[FIRN_JOB_NAME_SIZE]; // of the shot, letters, digits, '_' and '-'
    const char *program;           // "firn"
    int first, last, step;         // frames that are written
    int chunk;                     // of them in a part
    int megabytes, cpus;           // of a part on one machine
    int ranks;                     // that simulate together
    size_t task_count;
    firn_task tasks[FIRN_TASK_MAX];
} firn_job;

/// A kind of queue.
typedef struct firn_queue {
    const char *name;
    const char *file; // that the user hands to the queue, in the folder of the job
    const char *how;  // the command that does so; %s: the path of that file
    int parts_max;    // of a task; 0: any number
    firn_result (*write)(const firn_job *job, const char *folder, firn_error *error);
} firn_queue;

extern const firn_queue firn_queue_slurm, firn_queue_openjd, firn_queue_opencue, firn_queue_tractor;

/// "11-20", or "11-19x2", of a part of a task of frames.
const char *firn_job_frames(const firn_job *job, int part, char *text, size_t size);

/// Prints a word so that a shell takes it as it is.
void firn_print_shell_word(FILE *file, const char *word);

/// Prints the program and the words of a task for a shell; slot is printed for the slot.
void firn_print_shell_line(FILE *file, const firn_job *job, const firn_task *task,
                           const char *slot);

/// Prints a text into a file of the job's folder, which is whole or not there.
typedef void firn_job_print(FILE *file, const firn_job *job, const firn_task *task);
firn_result firn_job_write(const firn_job *job, const firn_task *task, firn_job_print *print,
                           const char *path, firn_error *error);

#endif
