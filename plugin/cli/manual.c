/// `firn manual`: the manual page, and completion for shells, from the tables of the commands.
#include "command.h"

#include <stdio.h>
#include <string.h>

// Called for every option of a command: its name, what its value is (NULL: a flag), help.
typedef void option_function(const firn_command *command, const char *name, const char *what,
                             const char *help);

static void for_options(const firn_command *command, option_function *call)
{
    const firn_options tables[] = {command->own, command->shared};
    for (size_t t = 0; t < FIRN_COUNT(tables); t++)
        for (size_t i = 0; i < tables[t].count; i++)
            call(command, tables[t].rows[i].name, tables[t].rows[i].what, tables[t].rows[i].help);
    firn_param_table rows = {0};
    if (command->params != NULL)
        rows = command->params();
    for (size_t i = 0; i < rows.count; i++) {
        const firn_param *row = &rows.params[i];
        char name[FIRN_OPTION_SIZE];
        const char *unit = row->unit[0] != '\0' ? row->unit : "VALUE";
        call(command, firn_row_option(row, name), row->choices != NULL ? row->choices : unit,
             row->help);
    }
    call(command, "--help", NULL, "this text");
}

// --- The manual page -----------------------------------------------------------------------------

// Text for troff: backslashes, dashes that are meant as such, and no commands by accident.
static void print_troff(const char *text)
{
    bool line_start = true;
    for (const char *at = text; *at != '\0'; at++) {
        if (line_start && (*at == '.' || *at == '\''))
            printf("\\&");
        if (*at == '\\')
            printf("\\e");
        else if (*at == '-')
            printf("\\-");
        else
            putchar(*at);
        line_start = *at == '\n';
    }
}

static void print_troff_option(const firn_command *command, const char *name, const char *what,
                               const char *help)
{
    (void)command;
    printf(".TP\n.B ");
    print_troff(name);
    if (what != NULL) {
        printf(" \\fI");
        print_troff(what);
        printf("\\fR");
    }
    printf("\n");
    print_troff(help);
    printf("\n");
}

static void print_man(void)
{
    printf(".TH FIRN 1 \"\" \"Firn %s\" \"User Commands\"\n", FIRN_VERSION);
    printf(".SH NAME\nfirn \\- snow simulation\n");
    printf(".SH SYNOPSIS\n.B firn\n.I COMMAND\n[\\fIOPTIONS\\fR]\n");
    printf(".SH DESCRIPTION\nCooks graphs of snow nodes to caches of particles and volumes, and "
           "makes pictures of them.\nUnits are meters, kilograms and seconds; Y is up.\n"
           ".SH COMMANDS\n");
    for (size_t i = 0; firn_command_at(i) != NULL; i++) {
        const firn_command *command = firn_command_at(i);
        printf(".SS firn %s ", command->name);
        print_troff(command->usage);
        printf("\n");
        print_troff(command->about);
        printf("\n");
        for_options(command, print_troff_option);
        printf(".PP\nFor example:\n.PP\n.nf\n");
        print_troff(command->example);
        printf("\n.fi\n");
    }
    printf(".SH EXIT STATUS\n");
    for (size_t i = 0; firn_exit_at(i) != NULL; i++)
        printf(".TP\n.B %d\n%s\n", firn_exit_at(i)->code, firn_exit_at(i)->meaning);
    printf(".SH ENVIRONMENT\n"
           ".TP\n.B FIRN_PLUGIN_PATH\nfolders of plugins, separated by colons\n"
           ".TP\n.B FIRN_SCENES\nfolder of the example shots\n"
           ".TP\n.B FIRN_VDB_HELPER\nthe program that reads OpenVDB files of unknown origin\n");
}

// --- Completion ----------------------------------------------------------------------------------

static void print_word(const firn_command *command, const char *name, const char *what,
                       const char *help)
{
    (void)command, (void)what, (void)help;
    printf("%s ", name);
}

static void print_bash(void)
{
    printf("# Completion of firn %s for bash.\n_firn()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"--version --help",
           FIRN_VERSION);
    for (size_t i = 0; firn_command_at(i) != NULL; i++)
        printf(" %s", firn_command_at(i)->name);
    printf("\"\n    elif [[ $word == -* ]]; then\n        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; firn_command_at(i) != NULL; i++) {
        printf("        %s) words=\"", firn_command_at(i)->name);
        for_options(firn_command_at(i), print_word);
        printf("\" ;;\n");
    }
    printf("        esac\n    fi\n"
           "    if [ -n \"$words\" ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "    else\n"
           "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
           "    fi\n}\n"
           "complete -o filenames -F _firn firn\n");
}

// Text inside single quotes, for zsh's and fish's lists: what would end it, or a part of it, is
// taken out.
static void print_quoted(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        putchar(strchr("'[]:\\\n", *at) == NULL ? *at : ' ');
}

static void print_zsh_option(const firn_command *command, const char *name, const char *what,
                             const char *help)
{
    (void)command;
    printf(" \\\n            '%s[", name);
    print_quoted(help);
    printf("]");
    if (what != NULL) {
        printf(":");
        print_quoted(what);
        printf(":_files");
    }
    printf("'");
}

static void print_zsh(void)
{
    printf("#compdef firn\n# Completion of firn %s for zsh.\n_firn() {\n"
           "    local -a commands=(\n",
           FIRN_VERSION);
    for (size_t i = 0; firn_command_at(i) != NULL; i++) {
        printf("        '%s:", firn_command_at(i)->name);
        print_quoted(firn_command_at(i)->summary);
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n"
           "        return\n    fi\n    local command=$words[2]\n"
           "    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (size_t i = 0; firn_command_at(i) != NULL; i++) {
        printf("        %s) _arguments", firn_command_at(i)->name);
        for_options(firn_command_at(i), print_zsh_option);
        printf(" \\\n            '*:file:_files' ;;\n");
    }
    printf("    esac\n}\n_firn \"$@\"\n");
}

static void print_fish_option(const firn_command *command, const char *name, const char *what,
                              const char *help)
{
    bool is_long = name[1] == '-';
    printf("complete -c firn -n '__fish_seen_subcommand_from %s' %s %s%s -d '", command->name,
           is_long ? "-l" : "-s", name + (is_long ? 2 : 1), what != NULL ? " -r" : "");
    print_quoted(help);
    printf("'\n");
}

static void print_fish(void)
{
    printf("# Completion of firn %s for fish.\n", FIRN_VERSION);
    for (size_t i = 0; firn_command_at(i) != NULL; i++) {
        printf("complete -c firn -n __fish_use_subcommand -f -a %s -d '", firn_command_at(i)->name);
        print_quoted(firn_command_at(i)->summary);
        printf("'\n");
    }
    for (size_t i = 0; firn_command_at(i) != NULL; i++)
        for_options(firn_command_at(i), print_fish_option);
}

static const struct {
    const char *name;
    void (*print)(void);
} forms[] = {{"man", print_man}, {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

static int run_manual(const void *request, const firn_words *words)
{
    (void)request;
    for (size_t i = 0; i < FIRN_COUNT(forms); i++)
        if (strcmp(words->words[0], forms[i].name) == 0) {
            forms[i].print();
            return FIRN_EXIT_OK;
        }
    const char *known[FIRN_COUNT(forms)];
    char hint[128];
    for (size_t i = 0; i < FIRN_COUNT(forms); i++)
        known[i] = forms[i].name;
    return firn_usage("manual", "unknown form '%s'%s", words->words[0],
                      firn_suggest(known, FIRN_COUNT(forms), words->words[0], hint, sizeof hint));
}

const firn_command firn_command_manual = {
    .name = "manual",
    .summary = "prints the manual page, or completion for bash, zsh or fish",
    .usage = "man|bash|zsh|fish",
    .about = "Prints the manual page of this program, or a script with which a shell completes\n"
             "commands and options. `cmake --install` puts all four where they belong.",
    .example = "  firn manual man | man -l -\n"
               "  source <(firn manual bash)",
    .request_size = 1,
    .least = 1,
    .most = 1,
    .run = run_manual,
};
